//! The client as the vectors' caller: tools by `invoke`, methods by name through the client's own types.
//!
//! A request is read from JSON by the protos alone, goes over into the client's type, and its answer comes back the same
//! way, so that a field which the generated code has lost or misread shows.

use ironclaw_memory_client::v1::*;
use ironclaw_memory_client::{Error, MemoryClient, Rpc, Scope};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, SerializeOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::scenario::{Caller, Refused};

/// Calls over one connection.
pub struct ClientCaller {
    pub client: MemoryClient,
    pub pool: DescriptorPool,
    pub runtime: Runtime,
}

impl Caller for ClientCaller {
    fn invoke(&self, scope: Scope, tool: &str, arguments: &str) -> Result<Value, Refused> {
        let call = self.client.invoke(tool, arguments).scope(scope);
        let answer = self.runtime.block_on(call.into_future()).map_err(refused)?;
        match answer.error {
            Some(error) => Err(Refused::Tool { kind: error.kind, reason: error.reason }),
            None => Ok(serde_json::from_str(&answer.output_json).expect("a tool's output is JSON")),
        }
    }

    fn call(&self, scope: Scope, rpc: &str, request: Value) -> Result<Value, Refused> {
        let (_, method) = rpc.split_once("ironclaw.memory.v1.").expect("a method of the service");
        match method {
            "MemoryService/Write" => self.send::<WriteRequest>(rpc, scope, request),
            "MemoryService/Read" => self.send::<ReadRequest>(rpc, scope, request),
            "MemoryService/Search" => self.send::<SearchRequest>(rpc, scope, request),
            "MemoryService/Tree" => self.send::<TreeRequest>(rpc, scope, request),
            "MemoryService/ProfileSet" => self.send::<ProfileSetRequest>(rpc, scope, request),
            "MemoryService/ListTools" => self.send::<ListToolsRequest>(rpc, scope, request),
            "MemoryService/InvokeTool" => self.send::<InvokeToolRequest>(rpc, scope, request),
            "MemoryLifecycleService/ReadLongTerm" => self.send::<ReadLongTermRequest>(rpc, scope, request),
            "MemoryLifecycleService/ReadShortTerm" => self.send::<ReadShortTermRequest>(rpc, scope, request),
            "MemoryLifecycleService/RetrieveContext" => self.send::<RetrieveContextRequest>(rpc, scope, request),
            "MemoryLifecycleService/RecordInteraction" => self.send::<RecordInteractionRequest>(rpc, scope, request),
            "MemoryLifecycleService/ProfileRead" => self.send::<ProfileReadRequest>(rpc, scope, request),
            "MemoryLifecycleService/ClaimCuration" => self.send::<ClaimCurationRequest>(rpc, scope, request),
            "MemoryLifecycleService/CompleteCuration" => self.send::<CompleteCurationRequest>(rpc, scope, request),
            "MemoryAdminService/ListVersions" => self.send::<ListVersionsRequest>(rpc, scope, request),
            "MemoryAdminService/ReadVersion" => self.send::<ReadVersionRequest>(rpc, scope, request),
            "MemoryAdminService/RestoreVersion" => self.send::<RestoreVersionRequest>(rpc, scope, request),
            "MemoryAdminService/DeleteDocument" => self.send::<DeleteDocumentRequest>(rpc, scope, request),
            "MemoryAdminService/GetScopeStats" => self.send::<GetScopeStatsRequest>(rpc, scope, request),
            _ => panic!("the client has no call for {rpc}"),
        }
    }
}

impl ClientCaller {
    fn send<R>(&self, rpc: &str, scope: Scope, request: Value) -> Result<Value, Refused>
    where
        R: Rpc + Message + Default,
        R::Response: Message,
    {
        let method = self.method(rpc);
        let request = DynamicMessage::deserialize(method.input(), request).expect("a request as protobuf JSON");
        let request = R::decode(request.encode_to_vec().as_slice()).expect("the client's type reads the request");
        let call = self.client.call(request).scope(scope);
        let answer = self.runtime.block_on(call.into_future()).map_err(refused)?;
        let answer = DynamicMessage::decode(method.output(), answer.encode_to_vec().as_slice());
        Ok(as_json(&answer.expect("the protos read the client's type")))
    }

    fn method(&self, rpc: &str) -> MethodDescriptor {
        let (service, method) = rpc.split_once('/').expect("service/method");
        let service = self.pool.get_service_by_name(service).expect("a service of the protos");
        service.methods().find(|candidate| candidate.name() == method).expect("a method of the protos")
    }
}

fn as_json(message: &DynamicMessage) -> Value {
    let options = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false);
    message.serialize_with_options(serde_json::value::Serializer, &options).expect("protobuf JSON")
}

fn refused(error: Error) -> Refused {
    let reason = error.reason().map(ToString::to_string).unwrap_or_default();
    Refused::Status { code: status_name(&format!("{:?}", error.code())), reason }
}

/// `InvalidArgument` as `INVALID_ARGUMENT`.
fn status_name(code: &str) -> String {
    let mut name = String::new();
    for (index, letter) in code.char_indices() {
        if index > 0 && letter.is_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}
