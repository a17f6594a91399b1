// Package memory is the Go client of ironclaw-memory: persistent memory for AI agents over gRPC.
//
// A host makes one [Client], sets whose memory it is about once, as a [Scope], and calls the service's methods, or hands
// the [Catalogue] of tools to a model API and routes what the model calls through [Client.Invoke]. Answers are the
// messages of the protos; failures are an [*Error] that tells its [Reason]; calls are repeated only where that is safe.
//
// The messages and the bare stubs are in the package memoryv1, which is generated from the protos.
package memory

// Version is this client's version.
const Version = "0.1.0"
