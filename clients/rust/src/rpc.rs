//! The RPCs that are one request and one answer: which stub they go through, and what it means to repeat them.

use std::fmt::Debug;
use std::future::Future;

use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::retry::Repetition;
use crate::v1::memory_admin_service_client::MemoryAdminServiceClient as Admin;
use crate::v1::memory_lifecycle_service_client::MemoryLifecycleServiceClient as Lifecycle;
use crate::v1::memory_service_client::MemoryServiceClient as Memory;
use crate::v1::*;

/// A request whose call can be awaited: see [`Call`](crate::Call).
///
/// It is implemented for the requests of this service, and for nothing else.
pub trait Rpc: sealed::Sealed + Clone + Debug + Send + Sync + 'static {
    /// The answer.
    type Response: Send + 'static;

    #[doc(hidden)]
    fn repetition(&self) -> Repetition;

    #[doc(hidden)]
    fn transmit(
        channel: Channel,
        request: Request<Self>,
    ) -> impl Future<Output = Result<Response<Self::Response>, Status>> + Send;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! rpcs {
    ($($stub:ident::$method:ident($request:ident) -> $response:ident, $repetition:expr;)+) => {$(
        impl sealed::Sealed for $request {}

        impl Rpc for $request {
            type Response = $response;

            fn repetition(&self) -> Repetition {
                let repetition: fn(&Self) -> Repetition = $repetition;
                repetition(self)
            }

            async fn transmit(channel: Channel, request: Request<Self>) -> Result<Response<$response>, Status> {
                $stub::new(channel).$method(request).await
            }
        }
    )+};
}

rpcs! {
    Memory::write(WriteRequest) -> WriteResponse, |request| under_one_id(request.precondition.is_some());
    Memory::read(ReadRequest) -> ReadResponse, |_| Repetition::Free;
    Memory::search(SearchRequest) -> SearchResponse, |_| Repetition::Free;
    Memory::tree(TreeRequest) -> TreeResponse, |_| Repetition::Free;
    Memory::profile_set(ProfileSetRequest) -> ProfileSetResponse, |_| Repetition::UnderOneId;
    Memory::list_tools(ListToolsRequest) -> ListToolsResponse, |_| Repetition::Free;
    // Any tool is taken for one that changes: a read under a request id is only a read.
    Memory::invoke_tool(InvokeToolRequest) -> InvokeToolResponse, |_| Repetition::UnderOneId;

    Lifecycle::read_long_term(ReadLongTermRequest) -> ReadLongTermResponse, |_| Repetition::Free;
    Lifecycle::read_short_term(ReadShortTermRequest) -> ReadShortTermResponse, |_| Repetition::Free;
    Lifecycle::retrieve_context(RetrieveContextRequest) -> RetrieveContextResponse, |_| Repetition::Free;
    Lifecycle::record_interaction(RecordInteractionRequest) -> RecordInteractionResponse, |_| Repetition::UnderOneId;
    Lifecycle::profile_read(ProfileReadRequest) -> ProfileReadResponse, |_| Repetition::Free;
    // Its request id lets a second try find the lease that the first one got.
    Lifecycle::claim_curation(ClaimCurationRequest) -> ClaimCurationResponse, |_| Repetition::UnderOneId;
    // A second try is known by its lease and arguments.
    Lifecycle::complete_curation(CompleteCurationRequest) -> CompleteCurationResponse, |_| Repetition::Free;

    Admin::list_versions(ListVersionsRequest) -> ListVersionsResponse, |_| Repetition::Free;
    Admin::read_version(ReadVersionRequest) -> ReadVersionResponse, |_| Repetition::Free;
    Admin::restore_version(RestoreVersionRequest) -> RestoreVersionResponse,
        |request| under_one_id(request.expected_sha256.is_some());
    Admin::delete_document(DeleteDocumentRequest) -> DeleteDocumentResponse,
        |request| under_one_id(request.expected_sha256.is_some());
    Admin::get_scope_stats(GetScopeStatsRequest) -> GetScopeStatsResponse, |_| Repetition::Free;
}

fn under_one_id(conditional: bool) -> Repetition {
    if conditional { Repetition::UnderOneIdIf } else { Repetition::UnderOneId }
}
