package dev.ironclaw.memory;

import dev.ironclaw.memory.v1.DocumentVersion;
import dev.ironclaw.memory.v1.ListVersionsResponse;
import java.util.Iterator;
import java.util.Spliterator;
import java.util.Spliterators.AbstractSpliterator;
import java.util.function.Consumer;
import java.util.function.Function;

/** A document's versions, page by page: a page is fetched when the one before it is used up. */
final class VersionPages extends AbstractSpliterator<DocumentVersion> {
  private final Function<String, ListVersionsResponse> fetch;
  private Iterator<DocumentVersion> page;
  private String nextToken;

  VersionPages(Function<String, ListVersionsResponse> fetch) {
    super(Long.MAX_VALUE, Spliterator.ORDERED | Spliterator.NONNULL);
    this.fetch = fetch;
  }

  @Override
  public boolean tryAdvance(Consumer<? super DocumentVersion> action) {
    while (page == null || !page.hasNext()) {
      if (page != null && nextToken.isEmpty()) {
        return false;
      }
      turn();
    }
    action.accept(page.next());
    return true;
  }

  private void turn() {
    ListVersionsResponse answer = fetch.apply(page == null ? "" : nextToken);
    page = answer.getVersionsList().iterator();
    nextToken = answer.getNextPageToken();
  }
}
