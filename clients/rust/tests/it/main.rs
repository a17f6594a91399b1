//! The client against a service by script and against a real server, and what tests rest on, tested.

mod calls;
mod failures;
mod generated;
#[path = "../vectors/matching.rs"]
mod matching;
mod readme;
mod rules;
#[path = "../vectors/scenario.rs"]
mod scenario;
mod scripted;
#[path = "../server/mod.rs"]
mod server;
mod service;
mod streams;
