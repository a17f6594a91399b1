package dev.ironclaw.memory;

import static dev.ironclaw.memory.v1.WriteRequest.PreconditionCase.PRECONDITION_NOT_SET;

import com.google.protobuf.Message;
import dev.ironclaw.memory.v1.ClaimCurationRequest;
import dev.ironclaw.memory.v1.ClaimCurationResponse;
import dev.ironclaw.memory.v1.CompleteCurationRequest;
import dev.ironclaw.memory.v1.CompleteCurationResponse;
import dev.ironclaw.memory.v1.DeleteDocumentRequest;
import dev.ironclaw.memory.v1.DeleteDocumentResponse;
import dev.ironclaw.memory.v1.DocumentVersion;
import dev.ironclaw.memory.v1.GetScopeStatsRequest;
import dev.ironclaw.memory.v1.GetScopeStatsResponse;
import dev.ironclaw.memory.v1.InteractionMessage;
import dev.ironclaw.memory.v1.InvokeToolRequest;
import dev.ironclaw.memory.v1.ListToolsRequest;
import dev.ironclaw.memory.v1.ListVersionsRequest;
import dev.ironclaw.memory.v1.MemoryAdminServiceGrpc;
import dev.ironclaw.memory.v1.MemoryLifecycleServiceGrpc;
import dev.ironclaw.memory.v1.MemoryServiceGrpc;
import dev.ironclaw.memory.v1.ProfileReadRequest;
import dev.ironclaw.memory.v1.ProfileReadResponse;
import dev.ironclaw.memory.v1.ProfileSetRequest;
import dev.ironclaw.memory.v1.ProfileSetResponse;
import dev.ironclaw.memory.v1.ReadLongTermRequest;
import dev.ironclaw.memory.v1.ReadLongTermResponse;
import dev.ironclaw.memory.v1.ReadRequest;
import dev.ironclaw.memory.v1.ReadResponse;
import dev.ironclaw.memory.v1.ReadShortTermRequest;
import dev.ironclaw.memory.v1.ReadShortTermResponse;
import dev.ironclaw.memory.v1.ReadVersionRequest;
import dev.ironclaw.memory.v1.ReadVersionResponse;
import dev.ironclaw.memory.v1.RecordInteractionRequest;
import dev.ironclaw.memory.v1.RecordInteractionResponse;
import dev.ironclaw.memory.v1.RestoreVersionRequest;
import dev.ironclaw.memory.v1.RestoreVersionResponse;
import dev.ironclaw.memory.v1.RetrieveContextRequest;
import dev.ironclaw.memory.v1.RetrieveContextResponse;
import dev.ironclaw.memory.v1.SearchRequest;
import dev.ironclaw.memory.v1.SearchResponse;
import dev.ironclaw.memory.v1.TreeRequest;
import dev.ironclaw.memory.v1.TreeResponse;
import dev.ironclaw.memory.v1.WatchEventsRequest;
import dev.ironclaw.memory.v1.WriteRequest;
import dev.ironclaw.memory.v1.WriteResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A connection to ironclaw-memory, for blocking code and for any number of threads.
 *
 * <p>What a method takes as arguments is what its call needs; whatever is optional is set on the
 * request, by its name on the wire, and what is not set is not sent:
 *
 * <pre>{@code
 * client.search("what does the user drink?", request -> request.setLimit(3));
 * }</pre>
 *
 * <p>Scope, deadline, request id and correlation id are the client's; for another one in a single
 * call, make that call on the client that {@link #withScope}, {@link #withDeadline}, {@link
 * #withRequestId} or {@link #withCorrelationId} returns. It costs nothing and shares the
 * connection.
 *
 * <p>Every call throws {@link dev.ironclaw.memory.errors.MemoryServiceException} when it fails, by
 * the subclass that tells why; {@link IllegalArgumentException} when an argument cannot be sent,
 * such as a text with a lone surrogate; and {@link IllegalStateException} on a closed client.
 */
public final class MemoryClient implements AutoCloseable {
  private static final int ALL_SNIPPETS = 50;

  private final Caller caller;

  MemoryClient(Caller caller) {
    this.caller = caller;
  }

  /**
   * Begins to make a client.
   *
   * @param target where the service listens, such as {@code 127.0.0.1:50051}, {@code
   *     dns:///memory:50051} or {@code unix:/run/memory.sock}
   * @param scope whose memory, unless a call says otherwise
   * @return a builder
   */
  public static MemoryClientBuilder builder(String target, Scope scope) {
    return new MemoryClientBuilder(target, scope);
  }

  /**
   * Connects in the clear and without a credential, with defaults for the rest.
   *
   * @param target where the service listens
   * @param scope whose memory, unless a call says otherwise
   * @return the client, to be closed
   */
  public static MemoryClient connect(String target, Scope scope) {
    return builder(target, scope).build();
  }

  /** Closes the connection, also for derived clients. Calls in flight are cancelled. */
  @Override
  public void close() {
    caller.connection().close();
  }

  /**
   * Returns whose memory the calls are about.
   *
   * @return the scope
   */
  public Scope scope() {
    return settings().scope();
  }

  /**
   * Returns a client for another scope.
   *
   * @param scope whose memory
   * @return a client over the same connection; closing one closes both
   */
  public MemoryClient withScope(Scope scope) {
    return derived(settings().withScope(Objects.requireNonNull(scope, "scope")));
  }

  /**
   * Returns a client for a scope that differs from this one's.
   *
   * @param change from this scope to the other, such as {@code s -> s.withAgent("coder")}
   * @return a client over the same connection; closing one closes both
   */
  public MemoryClient withScope(UnaryOperator<Scope> change) {
    return withScope(change.apply(scope()));
  }

  /**
   * Returns a client with another deadline. It is the only one that a watch has.
   *
   * @param deadline for a whole call, its tries and the waits between them; longer than zero
   * @return a client over the same connection; closing one closes both
   */
  public MemoryClient withDeadline(Duration deadline) {
    return derived(settings().withDeadline(requirePositive(deadline)));
  }

  /**
   * Returns a client for one change under an id of your own, instead of one that is made for it.
   *
   * <p>Sent again under the same id within 24 hours, the same change is made once and answers
   * {@code replayed}; that tells what became of it after a {@code DeadlineExceededException} or an
   * {@code UnreachableException}. Another change under the same id is a {@code
   * RequestIdReusedException}.
   *
   * @param requestId names the change, such as a UUID
   * @return a client over the same connection; closing one closes both
   */
  public MemoryClient withRequestId(String requestId) {
    return derived(settings().withRequestId(Objects.requireNonNull(requestId, "requestId")));
  }

  /**
   * Returns a client whose calls the service's log lines and events name.
   *
   * @param correlationId the name, instead of one that the service makes
   * @return a client over the same connection; closing one closes both
   */
  public MemoryClient withCorrelationId(String correlationId) {
    Objects.requireNonNull(correlationId, "correlationId");
    return derived(settings().withCorrelationId(correlationId));
  }

  /**
   * Appends to a document. The entry is on the disk when this returns.
   *
   * @param target {@code memory}, {@code heartbeat}, {@code daily_log}, or a relative path
   * @param content the entry
   * @return what was written
   */
  public WriteResponse write(String target, String content) {
    return write(request -> request.setTarget(target).setContent(content));
  }

  /**
   * Appends to, replaces or patches one document. It is on the disk when this returns.
   *
   * @param request sets {@code target}, {@code content}, {@code append}; {@code old_string}, {@code
   *     new_string}, {@code replace_all} for a patch; {@code metadata}, {@code timezone}; {@code
   *     expected_sha256} or {@code must_not_exist} as a precondition
   * @return what was written
   */
  public WriteResponse write(Consumer<WriteRequest.Builder> request) {
    WriteRequest made = applied(WriteRequest.newBuilder(), request).build();
    boolean conditional = made.getPreconditionCase() != PRECONDITION_NOT_SET;
    return make(Call.change(MemoryServiceGrpc.getWriteMethod(), made).onlyIf(conditional));
  }

  /**
   * Returns one document whole.
   *
   * @param path the document's relative path
   * @return the document
   */
  public ReadResponse read(String path) {
    ReadRequest request = ReadRequest.newBuilder().setPath(path).build();
    return make(Call.read(MemoryServiceGrpc.getReadMethod(), request));
  }

  /**
   * Returns the documents that match a question in plain words, best first; at most 5.
   *
   * @param query any text, at most 4,096 bytes; nothing in it is syntax
   * @return the results
   */
  public SearchResponse search(String query) {
    return search(query, request -> {});
  }

  /**
   * Returns the documents that match a question in plain words, best first.
   *
   * @param query any text, at most 4,096 bytes; nothing in it is syntax
   * @param options sets {@code limit}, {@code path_prefix}, {@code min_score}
   * @return the results
   */
  public SearchResponse search(String query, Consumer<SearchRequest.Builder> options) {
    var request = applied(SearchRequest.newBuilder().setQuery(query), options);
    return make(Call.read(MemoryServiceGrpc.getSearchMethod(), request.build()));
  }

  /**
   * Lists what is at the scope's root.
   *
   * @return folders first, then documents
   */
  public TreeResponse tree() {
    return tree(request -> {});
  }

  /**
   * Lists what is in a folder; an unknown folder is empty.
   *
   * @param options sets {@code path}, {@code depth}
   * @return folders first, then documents
   */
  public TreeResponse tree(Consumer<TreeRequest.Builder> options) {
    var request = applied(TreeRequest.newBuilder(), options);
    return make(Call.read(MemoryServiceGrpc.getTreeMethod(), request.build()));
  }

  /**
   * Sets facts about the human user. What is not set stays as it is; the profile is the user's,
   * whatever the agent.
   *
   * @param facts sets {@code timezone}, {@code locale}, {@code location}; at least one
   * @return the confirmation
   */
  public ProfileSetResponse profileSet(Consumer<ProfileSetRequest.Builder> facts) {
    var request = applied(ProfileSetRequest.newBuilder(), facts);
    return make(Call.change(MemoryServiceGrpc.getProfileSetMethod(), request.build()));
  }

  /**
   * Returns the five tools and the guidance text, ready for a model API.
   *
   * @return the catalogue
   */
  public ToolCatalogue listTools() {
    ListToolsRequest request = ListToolsRequest.getDefaultInstance();
    return new ToolCatalogue(make(Call.read(MemoryServiceGrpc.getListToolsMethod(), request)));
  }

  /**
   * Runs a model's tool call. What the model can be told about a failure is in the result.
   *
   * @param name the tool's id, or its name in a model API ({@code ironclaw_memory_write})
   * @param argumentsJson the arguments as the model wrote them; empty counts as <code>{}</code>
   * @return what goes back to the model
   */
  public ToolResult invoke(String name, String argumentsJson) {
    String id = ToolNames.toolId(name);
    var request = InvokeToolRequest.newBuilder().setToolId(id).setArgumentsJson(argumentsJson);
    // Any tool is taken for one that changes: a read under a request id is only a read.
    var call = Call.change(MemoryServiceGrpc.getInvokeToolMethod(), request.build());
    return new ToolResult(make(call));
  }

  /**
   * Returns what memory adds to a prompt: both lanes as one block to paste.
   *
   * @param query any text, at most 4,096 bytes, such as the user's message
   * @return the block and its parts
   */
  public RetrieveContextResponse retrieveContext(String query) {
    return retrieveContext(query, request -> {});
  }

  /**
   * Returns what memory adds to a prompt: both lanes as one block to paste.
   *
   * @param query any text, at most 4,096 bytes, such as the user's message
   * @param options sets {@code max_snippets} of each lane, 50 unless set, and {@code
   *     context_profile_id}
   * @return the block and its parts
   */
  public RetrieveContextResponse retrieveContext(
      String query, Consumer<RetrieveContextRequest.Builder> options) {
    var request = RetrieveContextRequest.newBuilder().setQuery(query).setMaxSnippets(ALL_SNIPPETS);
    options.accept(request);
    var method = MemoryLifecycleServiceGrpc.getRetrieveContextMethod();
    return make(Call.read(method, request.build()));
  }

  /**
   * Returns MEMORY.md, whatever the query, and then passages of the scope's documents, as they are.
   *
   * @param query any text, at most 4,096 bytes, such as the user's message
   * @param options sets {@code max_snippets}, 50 unless set, and {@code context_profile_id}
   * @return the long-term lane
   */
  public ReadLongTermResponse readLongTerm(
      String query, Consumer<ReadLongTermRequest.Builder> options) {
    var request = ReadLongTermRequest.newBuilder().setQuery(query).setMaxSnippets(ALL_SNIPPETS);
    options.accept(request);
    return make(Call.read(MemoryLifecycleServiceGrpc.getReadLongTermMethod(), request.build()));
  }

  /**
   * Returns passages of what the scope's thread recorded, as they are; nothing without a thread.
   *
   * @param query any text, at most 4,096 bytes
   * @param options sets {@code max_snippets}, 50 unless set, and {@code context_profile_id}
   * @return the short-term lane
   */
  public ReadShortTermResponse readShortTerm(
      String query, Consumer<ReadShortTermRequest.Builder> options) {
    var request = ReadShortTermRequest.newBuilder().setQuery(query).setMaxSnippets(ALL_SNIPPETS);
    options.accept(request);
    return make(Call.read(MemoryLifecycleServiceGrpc.getReadShortTermMethod(), request.build()));
  }

  /**
   * Stores a turn's exchange in the scope's thread; without a thread nothing is stored.
   *
   * @param turnRunId names the run; the same run again overwrites its record and counts once
   * @param messages the exchange in order; {@link Messages} makes them
   * @return what was recorded, and whether it is time to curate
   */
  public RecordInteractionResponse recordInteraction(
      String turnRunId, List<InteractionMessage> messages) {
    return recordInteraction(turnRunId, messages, request -> {});
  }

  /**
   * Stores a turn's exchange in the scope's thread; without a thread nothing is stored.
   *
   * @param turnRunId names the run; the same run again overwrites its record and counts once
   * @param messages the exchange in order; {@link Messages} makes them
   * @param options sets {@code metadata} of the record, and {@code background} for a run that does
   *     not count towards curation
   * @return what was recorded, and whether it is time to curate
   */
  public RecordInteractionResponse recordInteraction(
      String turnRunId,
      List<InteractionMessage> messages,
      Consumer<RecordInteractionRequest.Builder> options) {
    var request = RecordInteractionRequest.newBuilder().setTurnRunId(turnRunId);
    options.accept(request.addAllMessages(messages));
    var method = MemoryLifecycleServiceGrpc.getRecordInteractionMethod();
    return make(Call.change(method, request.build()));
  }

  /**
   * Returns the human's profile as it is stored, whatever the agent.
   *
   * @return the JSON file's bytes; {@code hasDocument()} is false when there is none
   */
  public ProfileReadResponse profileRead() {
    ProfileReadRequest request = ProfileReadRequest.getDefaultInstance();
    return make(Call.read(MemoryLifecycleServiceGrpc.getProfileReadMethod(), request));
  }

  /**
   * Asks for the right to tidy MEMORY.md. At most one caller has it.
   *
   * @param options sets {@code lease_seconds}, 300 unless set, and {@code force} to claim even when
   *     nothing is due
   * @return the right and the work; {@code claimed} is false when there is none
   */
  public ClaimCurationResponse claimCuration(Consumer<ClaimCurationRequest.Builder> options) {
    var request = applied(ClaimCurationRequest.newBuilder(), options);
    // Its request id lets a second try find the lease that the first one got.
    var method = MemoryLifecycleServiceGrpc.getClaimCurationMethod();
    return make(Call.change(method, request.build()));
  }

  /**
   * Ends a claim: replaces MEMORY.md, unless somebody changed it since.
   *
   * @param leaseId from {@link #claimCuration}
   * @param options sets {@code content}, the new text, not set when nothing needed to change;
   *     {@code report}, what became of the lines; {@code abandon} to give the lease back
   * @return what came of it
   */
  public CompleteCurationResponse completeCuration(
      String leaseId, Consumer<CompleteCurationRequest.Builder> options) {
    var request = applied(CompleteCurationRequest.newBuilder().setLeaseId(leaseId), options);
    // It needs no request id: a second try is known by its lease and arguments.
    var method = MemoryLifecycleServiceGrpc.getCompleteCurationMethod();
    return make(Call.read(method, request.build()));
  }

  /**
   * Returns what is kept of a document's past, newest first, fetching page by page as it is taken.
   *
   * @param path the document, which may be deleted by now
   * @return the versions, each fetched when it is needed; the deadline is for each page
   */
  public Stream<DocumentVersion> listVersions(String path) {
    return listVersions(path, 0);
  }

  /**
   * Returns what is kept of a document's past, newest first, fetching page by page as it is taken.
   *
   * @param path the document, which may be deleted by now
   * @param pageSize versions a page, at most 1,000; 0 is the server's default, 100
   * @return the versions, each fetched when it is needed; the deadline is for each page
   */
  public Stream<DocumentVersion> listVersions(String path, int pageSize) {
    var request = ListVersionsRequest.newBuilder().setPath(path).setPageSize(pageSize).build();
    var method = MemoryAdminServiceGrpc.getListVersionsMethod();
    var pages =
        new VersionPages(
            token -> make(Call.read(method, request.toBuilder().setPageToken(token).build())));
    return StreamSupport.stream(pages, false);
  }

  /**
   * Returns the content of one kept version.
   *
   * @param path the document
   * @param version a number from {@link #listVersions}
   * @return the version
   */
  public ReadVersionResponse readVersion(String path, long version) {
    var request = ReadVersionRequest.newBuilder().setPath(path).setVersion(version).build();
    return make(Call.read(MemoryAdminServiceGrpc.getReadVersionMethod(), request));
  }

  /**
   * Makes a kept version the document's content again. What it replaces is kept.
   *
   * @param path the document, which may be deleted by now
   * @param version a number from {@link #listVersions}
   * @return the document after the restore
   */
  public RestoreVersionResponse restoreVersion(String path, long version) {
    return restoreVersion(path, version, request -> {});
  }

  /**
   * Makes a kept version the document's content again. What it replaces is kept.
   *
   * @param path the document, which may be deleted by now
   * @param version a number from {@link #listVersions}
   * @param options sets {@code expected_sha256} as a precondition
   * @return the document after the restore
   */
  public RestoreVersionResponse restoreVersion(
      String path, long version, Consumer<RestoreVersionRequest.Builder> options) {
    var request = RestoreVersionRequest.newBuilder().setPath(path).setVersion(version);
    options.accept(request);
    var call = Call.change(MemoryAdminServiceGrpc.getRestoreVersionMethod(), request.build());
    return make(call.onlyIf(request.hasExpectedSha256()));
  }

  /**
   * Removes a document from reads, search and tree; its last content is kept as a version.
   *
   * @param path the document
   * @return the confirmation
   */
  public DeleteDocumentResponse deleteDocument(String path) {
    return deleteDocument(path, request -> {});
  }

  /**
   * Removes a document from reads, search and tree.
   *
   * @param path the document
   * @param options sets {@code expected_sha256} as a precondition, and {@code purge_versions} to
   *     remove the kept versions too, which can't be undone
   * @return the confirmation
   */
  public DeleteDocumentResponse deleteDocument(
      String path, Consumer<DeleteDocumentRequest.Builder> options) {
    var request = applied(DeleteDocumentRequest.newBuilder().setPath(path), options);
    var call = Call.change(MemoryAdminServiceGrpc.getDeleteDocumentMethod(), request.build());
    return make(call.onlyIf(request.hasExpectedSha256()));
  }

  /**
   * Returns how much the scope holds, its limits, and which documents cannot be searched.
   *
   * @return the figures
   */
  public GetScopeStatsResponse getScopeStats() {
    GetScopeStatsRequest request = GetScopeStatsRequest.getDefaultInstance();
    return make(Call.read(MemoryAdminServiceGrpc.getGetScopeStatsMethod(), request));
  }

  /**
   * Watches what happens to the scope's memory, as it happens, until the watch is closed.
   *
   * @param options sets {@code cursor} to go on after the message it came with, {@code
   *     whole_tenant} for all scopes of the tenant, and {@code kinds} for some kinds of event
   * @return the messages; it connects when the first is asked for. It has the deadline that {@link
   *     #withDeadline} gave this client, else none
   */
  public EventWatch watchEvents(Consumer<WatchEventsRequest.Builder> options) {
    caller.connection().requireOpen();
    WatchEventsRequest request = applied(WatchEventsRequest.newBuilder(), options).build();
    WellFormedText.check(request);
    return new EventWatch(caller.connection(), settings(), request);
  }

  /** Returns the duration when a call can be made within it. */
  static Duration requirePositive(Duration deadline) {
    if (deadline.isNegative() || deadline.isZero()) {
      throw new IllegalArgumentException("a deadline must be longer than zero");
    }
    return deadline;
  }

  private static <B> B applied(B builder, Consumer<? super B> options) {
    options.accept(builder);
    return builder;
  }

  <Q extends Message, A> A make(Call<Q, A> call) {
    return caller.make(call);
  }

  private Settings settings() {
    return caller.settings();
  }

  private MemoryClient derived(Settings changed) {
    return new MemoryClient(new Caller(caller.connection(), changed));
  }
}
