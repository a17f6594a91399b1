//! A real server as a child process: read until it is ready, ended as an operator would end it.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The repository's root.
pub const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const READY: &str = "ironclaw-memory is ready on ";
/// Generous: the machine may be busy with other tests, and a server that hangs fails the test anyway.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running server with a data folder of its own, which goes with it.
pub struct Server {
    /// Where it listens, as it printed it.
    pub address: String,
    child: Child,
    output: Arc<Mutex<String>>,
    _data: TempDir,
}

impl Server {
    /// Starts one on any free port of loopback, with more arguments, and returns once it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_on(tempfile::tempdir().expect("a folder"), arguments)
    }

    /// Starts one on a data folder that was prepared, the `data_dir` of this folder. A second `--listen` among the arguments takes the first's place.
    pub fn start_on(data: TempDir, arguments: &[&str]) -> Self {
        let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(data_dir(&data)).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{:?} doesn't start: {error}", executable()));
        let output = Arc::default();
        let (sender, lines) = channel();
        follow(child.stdout.take().expect("piped"), &output, sender.clone());
        follow(child.stderr.take().expect("piped"), &output, sender);
        let mut server = Self { address: String::new(), child, output, _data: data };
        server.address = server.wait_ready(&lines);
        server
    }

    fn wait_ready(&self, lines: &Receiver<String>) -> String {
        let ready = std::iter::from_fn(|| lines.recv_timeout(PATIENCE).ok());
        let address =
            ready.filter_map(|line| Some(line.split_once(READY)?.1.split_whitespace().next()?.to_owned())).next();
        address.unwrap_or_else(|| panic!("the server didn't start:\n{}", self.output()))
    }

    fn output(&self) -> String {
        self.output.lock().expect("no panic while writing").clone()
    }

    /// Asks it to end, waits, and holds it to exit code 0.
    pub fn stop(mut self) {
        kill_process(self.pid(), Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}:\n{}", self.output());
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Server {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid(), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// The data folder in a test's folder, to be made by the service: it wants one that is closed to other users.
pub fn data_dir(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}

/// The service's command line, free of settings in the test's own environment.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(executable());
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("IRONCLAW_MEMORY_")) {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

fn executable() -> PathBuf {
    let default = || Path::new(REPOSITORY).join(".venv/bin/ironclaw-memory");
    env::var_os("IRONCLAW_MEMORY_SERVER").map_or_else(default, PathBuf::from)
}

/// Reads to the end, so that the server never waits for a full pipe.
fn follow(stream: impl Read + Send + 'static, output: &Arc<Mutex<String>>, lines: Sender<String>) {
    let output = Arc::clone(output);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            output.lock().expect("no panic while writing").push_str(&format!("{line}\n"));
            let _ = lines.send(line); // nobody listens once it is ready
        }
    });
}
