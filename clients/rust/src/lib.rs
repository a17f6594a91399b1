#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod arguments;
mod builder;
mod call;
mod client;
mod credentials;
mod error;
mod json;
mod messages;
mod reason;
mod retry;
mod rpc;
mod scope;
mod target;
#[cfg(feature = "tls")]
mod tls;
pub mod tools;
pub mod v1;
mod versions;
mod watch;

pub use builder::Builder;
pub use call::Call;
pub use client::MemoryClient;
pub use credentials::Token;
pub use error::{Error, FieldViolation, Kind, ServiceError};
pub use reason::Reason;
pub use retry::RetryPolicy;
pub use rpc::Rpc;
pub use scope::Scope;
#[cfg(feature = "tls")]
pub use tls::Tls;
pub use versions::VersionStream;
pub use watch::EventStream;
