//! The messages, enums and bare stubs of the wire, generated from the protos.
//!
//! What calls return are these messages. An enum's field is an `i32`; the method of the same name gives the enum
//! (`response.status()`). A `Timestamp` becomes a [`std::time::SystemTime`] by `try_into`. The stubs send neither scope
//! nor credential and repeat nothing: [`MemoryClient`](crate::MemoryClient) is what hosts use.

#![allow(missing_docs, clippy::all, clippy::pedantic, rustdoc::all)] // written by the generator, not by us

include!("v1/ironclaw.memory.v1.rs");
