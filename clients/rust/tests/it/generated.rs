//! What is committed under `src/v1` is what the protos give.
//!
//! It is committed so that nobody who uses the crate has to compile a protobuf compiler, and so that it works from a
//! checkout, a package and docs.rs alike. `make generate` writes it anew.

use std::env;
use std::fs;
use std::path::Path;

use crate::server::REPOSITORY;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/v1/ironclaw.memory.v1.rs");

#[test]
fn the_generated_code_is_what_the_protos_give() {
    let fresh = generate();
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(COMMITTED, &fresh).unwrap();
    }
    let committed = fs::read_to_string(COMMITTED).unwrap();
    assert!(committed == fresh, "src/v1 is not what the protos give; run `make generate`");
}

/// The messages and the bare stubs, without a server's side and without ways to connect beside the client's.
fn generate() -> String {
    let root = Path::new(REPOSITORY).join("protos");
    let mut files = fs::read_dir(root.join("ironclaw/memory/v1")).unwrap();
    let mut files: Vec<_> = files.by_ref().map(|file| file.unwrap().path()).collect();
    files.sort();
    let protos = protox::compile(files, [root]).expect("the protos compile");
    let folder = tempfile::tempdir().unwrap();
    let settings = tonic_prost_build::configure().build_server(false).build_transport(false);
    settings.out_dir(folder.path()).compile_fds(protos).expect("the code is generated");
    fs::read_to_string(folder.path().join("ironclaw.memory.v1.rs")).unwrap()
}
