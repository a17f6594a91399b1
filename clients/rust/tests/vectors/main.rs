//! The conformance vectors against a real server through the client, one test a scenario.

mod caller;
mod matching;
mod scenario;
#[path = "../server/mod.rs"]
mod server;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use caller::ClientCaller;
use ironclaw_memory_client::{MemoryClient, Scope};
use jiff::Zoned;
use jiff::tz::TimeZone;
use libtest_mimic::{Arguments, Trial};
use prost_reflect::DescriptorPool;
use scenario::Scenario;
use serde_json::Value;
use server::{REPOSITORY, Server};

const SUITES: [&str; 11] =
    ["history", "lifecycle", "patch", "paths", "profile", "safety", "scope", "search", "tools", "tree", "write"];

/// What all scenarios share, made for the first that runs, so that listing them starts no server.
struct Bench {
    server: Server,
    caller: ClientCaller,
}

impl Bench {
    fn start() -> Self {
        let server = Server::start(&[]);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let _entered = runtime.enter();
        let client = MemoryClient::new(&server.address, Scope::default()).expect("a client");
        Self { server, caller: ClientCaller { client, pool: protos(), runtime } }
    }
}

fn protos() -> DescriptorPool {
    let root = Path::new(REPOSITORY).join("protos");
    let services =
        ["memory", "lifecycle", "admin", "event"].map(|name| format!("ironclaw/memory/v1/{name}_service.proto"));
    let set = protox::compile(services, [root]).expect("the protos compile");
    DescriptorPool::from_file_descriptor_set(set).expect("the protos are whole")
}

fn suites() -> Vec<Value> {
    let folder = Path::new(REPOSITORY).join("tests/conformance/vectors");
    let files = fs::read_dir(&folder).expect("the vectors").map(|file| file.expect("a file").path());
    let files: BTreeSet<_> = files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    let read = |file| serde_json::from_slice(&fs::read(file).expect("a suite")).expect("a suite is JSON");
    files.into_iter().map(read).collect()
}

fn main() {
    let arguments = Arguments::from_args();
    let suites = suites();
    let scenarios = suites.iter().flat_map(Scenario::of_suite).collect::<Vec<_>>();
    check_complete(&suites, &scenarios);
    let bench: Arc<OnceLock<Bench>> = Arc::default();
    let expected = scenarios.len() as u64;
    let trials = scenarios.into_iter().enumerate().map(|(number, scenario)| trial(&bench, number, scenario)).collect();
    let everything = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list && !arguments.ignored;
    let conclusion = libtest_mimic::run(&arguments, trials);
    assert!(!everything || conclusion.num_passed + conclusion.num_failed == expected, "a scenario was left out");
    if let Some(bench) = Arc::into_inner(bench).and_then(OnceLock::into_inner) {
        bench.server.stop();
    }
    conclusion.exit();
}

fn trial(bench: &Arc<OnceLock<Bench>>, number: usize, scenario: Scenario) -> Trial {
    let bench = Arc::clone(bench);
    Trial::test(scenario.id.clone(), move || {
        let caller = &bench.get_or_init(Bench::start).caller;
        Ok(scenario.run(caller, &format!("tenant-{}-{number}", std::process::id()), today)?)
    })
}

/// A suite that isn't found, or a scenario that another hides, must not pass for one that passed.
fn check_complete(suites: &[Value], scenarios: &[Scenario]) {
    let names: BTreeSet<_> = suites.iter().map(|suite| suite["suite"].as_str().expect("a name")).collect();
    assert_eq!(names, BTreeSet::from(SUITES), "these are not the eleven suites");
    let ids: BTreeSet<_> = scenarios.iter().map(|scenario| &scenario.id).collect();
    let written: usize = suites.iter().map(|suite| suite["scenarios"].as_array().expect("a list").len()).sum();
    assert_eq!((ids.len(), scenarios.len()), (written, written), "two scenarios have one name");
}

/// The date in a zone now, as the daily log is named.
fn today(zone: &str) -> String {
    let zone = TimeZone::get(zone).expect("a zone of the vectors");
    Zoned::now().with_time_zone(zone).date().to_string()
}
