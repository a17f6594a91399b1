//! The client: a connection, whose memory, and a method for each RPC.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tonic::transport::Channel;

use crate::call::Call;
use crate::tools::tool_id;
use crate::v1::*;
use crate::{Builder, Error, RetryPolicy, Rpc, Scope, Token};

/// A connection to ironclaw-memory for any number of tasks; clones share it, and it ends with the last of them.
///
/// It connects with the first call, and again when the connection is lost. Every method returns a [`Call`], which takes
/// further arguments and options and is made when it is awaited.
#[derive(Clone)]
pub struct MemoryClient {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scope: Arc<Scope>,
}

/// What all clients over one connection have in common.
pub(crate) struct Shared {
    pub(crate) channel: Channel,
    pub(crate) token: Option<Token>,
    pub(crate) deadline: Duration,
    pub(crate) retry: RetryPolicy,
}

impl MemoryClient {
    /// A client in the clear and without a credential, which suits loopback and Unix sockets; nothing is sent yet.
    ///
    /// The target is `host:port`, `https://host:port` (TLS that trusts the system's authorities) or `unix:/path`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: the target can't be understood, or there is no Tokio runtime.
    pub fn new(target: &str, scope: Scope) -> Result<Self, Error> {
        Self::builder(scope).build(target)
    }

    /// Starts a client with a credential, TLS, a deadline or rules of retrying of its own.
    pub fn builder(scope: Scope) -> Builder {
        Builder::new(scope)
    }

    /// Whose memory, unless a call says otherwise.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// A client for another scope over the same connection.
    ///
    /// ```no_run
    /// # fn example(client: ironclaw_memory_client::MemoryClient) {
    /// let coder = client.with_scope(client.scope().clone().agent("coder"));
    /// # }
    /// ```
    #[must_use]
    pub fn with_scope(&self, scope: Scope) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: Arc::new(scope) }
    }

    /// A call of any request as it is on the wire.
    pub fn call<R: Rpc>(&self, request: R) -> Call<R> {
        Call::new(self, request)
    }

    /// Appends to, replaces or patches one document; it is on the disk when this returns.
    ///
    /// `content` is the text to append, or to store with `append(false)`; a patch and the target `bootstrap` ignore it.
    pub fn write(&self, content: impl Into<String>) -> Call<WriteRequest> {
        self.call(WriteRequest { content: content.into(), ..WriteRequest::default() })
    }

    /// Replaces exact text in a document, once unless `replace_all(true)`: a write in patch mode.
    pub fn patch(
        &self,
        target: impl Into<String>,
        old_string: impl Into<String>,
        new_string: impl Into<String>,
    ) -> Call<WriteRequest> {
        self.write("").target(target).old_string(old_string).new_string(new_string)
    }

    /// Returns one document whole; one that isn't there is [`Reason::NotFound`](crate::Reason::NotFound).
    pub fn read(&self, path: impl Into<String>) -> Call<ReadRequest> {
        self.call(ReadRequest { path: path.into() })
    }

    /// Returns the documents that match a question in plain words, best first; nothing in it is syntax.
    pub fn search(&self, query: impl Into<String>) -> Call<SearchRequest> {
        self.call(SearchRequest { query: query.into(), ..SearchRequest::default() })
    }

    /// Lists what is in a folder, the scope's root unless `path` is set; an unknown folder is empty.
    pub fn tree(&self) -> Call<TreeRequest> {
        self.call(TreeRequest::default())
    }

    /// Sets facts about the human user; what isn't set stays as it is. The profile is the user's, whatever the agent.
    pub fn profile_set(&self) -> Call<ProfileSetRequest> {
        self.call(ProfileSetRequest::default())
    }

    /// Returns the five tools and the guidance text, ready for [`tools`](crate::tools).
    pub fn list_tools(&self) -> Call<ListToolsRequest> {
        self.call(ListToolsRequest {})
    }

    /// Runs a model's tool call. What the model can be told about a failure comes back as the answer's `error`.
    ///
    /// `name` is the tool's id, or its name in a model API (`ironclaw_memory_write`); `arguments_json` is what the model
    /// wrote, where empty counts as `{}`.
    pub fn invoke(&self, name: &str, arguments_json: impl Into<String>) -> Call<InvokeToolRequest> {
        self.call(InvokeToolRequest { tool_id: tool_id(name).into_owned(), arguments_json: arguments_json.into() })
    }

    /// Returns what memory adds to a prompt: both lanes, each passage in its envelope, as one block to paste.
    ///
    /// `max_snippets` bounds each lane at 50 unless set; the block's 4,096 bytes bound them too.
    pub fn retrieve_context(&self, query: impl Into<String>) -> Call<RetrieveContextRequest> {
        let request = RetrieveContextRequest { query: query.into(), max_snippets: 50, ..Default::default() };
        self.call(request)
    }

    /// Returns MEMORY.md, whatever the query, and then passages of the scope's documents, as they are.
    ///
    /// `max_snippets` is the most snippets, MEMORY.md's chunks included; clamped to 0 to 50.
    pub fn read_long_term(&self, query: impl Into<String>, max_snippets: i32) -> Call<ReadLongTermRequest> {
        self.call(ReadLongTermRequest { query: query.into(), max_snippets, ..Default::default() })
    }

    /// Returns passages of what the scope's thread recorded, as they are; nothing without a thread.
    ///
    /// `max_snippets` is the most snippets, clamped to 0 to 50.
    pub fn read_short_term(&self, query: impl Into<String>, max_snippets: i32) -> Call<ReadShortTermRequest> {
        self.call(ReadShortTermRequest { query: query.into(), max_snippets, ..Default::default() })
    }

    /// Stores a turn's exchange in the scope's thread; without a thread nothing is stored.
    ///
    /// The id names the run; the same run again overwrites its record and counts once.
    pub fn record_interaction(
        &self,
        turn_run_id: impl Into<String>,
        messages: impl IntoIterator<Item = InteractionMessage>,
    ) -> Call<RecordInteractionRequest> {
        let messages = messages.into_iter().collect();
        self.call(RecordInteractionRequest { turn_run_id: turn_run_id.into(), messages, ..Default::default() })
    }

    /// Returns the human's profile as it is stored, whatever the agent.
    pub fn profile_read(&self) -> Call<ProfileReadRequest> {
        self.call(ProfileReadRequest {})
    }

    /// Asks for the right to tidy MEMORY.md. At most one caller has it.
    pub fn claim_curation(&self) -> Call<ClaimCurationRequest> {
        self.call(ClaimCurationRequest::default())
    }

    /// Ends a claim: replaces MEMORY.md if `content` is set, unless somebody changed it since.
    ///
    /// A lease that is over is [`Reason::LeaseInvalid`](crate::Reason::LeaseInvalid); a text that may not enter a prompt
    /// is refused, and the lease holds for another try.
    pub fn complete_curation(&self, lease_id: impl Into<String>) -> Call<CompleteCurationRequest> {
        self.call(CompleteCurationRequest { lease_id: lease_id.into(), ..Default::default() })
    }

    /// Returns a page of what is kept of a document's past, newest first, or with [`Call::stream`] all of it.
    pub fn list_versions(&self, path: impl Into<String>) -> Call<ListVersionsRequest> {
        self.call(ListVersionsRequest { path: path.into(), ..Default::default() })
    }

    /// Returns the content of one kept version.
    pub fn read_version(&self, path: impl Into<String>, version: u64) -> Call<ReadVersionRequest> {
        self.call(ReadVersionRequest { path: path.into(), version })
    }

    /// Makes a kept version the document's content again. What it replaces is kept; it works for a deleted document.
    pub fn restore_version(&self, path: impl Into<String>, version: u64) -> Call<RestoreVersionRequest> {
        self.call(RestoreVersionRequest { path: path.into(), version, expected_sha256: None })
    }

    /// Removes a document from reads, search and tree; its last content is kept as a version.
    pub fn delete_document(&self, path: impl Into<String>) -> Call<DeleteDocumentRequest> {
        self.call(DeleteDocumentRequest { path: path.into(), ..Default::default() })
    }

    /// Returns how much the scope holds, its limits, and which documents can't be searched.
    pub fn get_scope_stats(&self) -> Call<GetScopeStatsRequest> {
        self.call(GetScopeStatsRequest {})
    }

    /// Prepares a watch of what happens to the scope's memory, begun by [`Call::stream`].
    pub fn watch_events(&self) -> Call<WatchEventsRequest> {
        Call::new(self, WatchEventsRequest::default())
    }
}

impl fmt::Debug for MemoryClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryClient").field("scope", &self.scope).finish_non_exhaustive()
    }
}
