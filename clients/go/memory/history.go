package memory

import (
	"context"
	"iter"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// ListVersions iterates over what is kept of a document's past, newest first, fetching page by page as it goes; each page
// has a call's whole time, unless the context has a deadline. The document may be deleted by now. After an error it ends.
func (c *Client) ListVersions(
	ctx context.Context, path string, options ...VersionsOption,
) iter.Seq2[*memoryv1.DocumentVersion, error] {
	return func(yield func(*memoryv1.DocumentVersion, error) bool) {
		request := &memoryv1.ListVersionsRequest{Path: path}
		for {
			page, err := send(ctx, c.admin.ListVersions, request, options, VersionsOption.setVersions)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, version := range page.GetVersions() {
				if !yield(version, nil) {
					return
				}
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				return
			}
		}
	}
}

// ReadVersion returns the content of one kept version, by its number from ListVersions.
func (c *Client) ReadVersion(
	ctx context.Context, path string, version uint64, options ...CallOption,
) (*memoryv1.ReadVersionResponse, error) {
	request := &memoryv1.ReadVersionRequest{Path: path, Version: version}
	return send(ctx, c.admin.ReadVersion, request, options, onCall)
}

// RestoreVersion makes a kept version the document's content again, also of a deleted document. What it replaces is kept.
func (c *Client) RestoreVersion(
	ctx context.Context, path string, version uint64, options ...RestoreOption,
) (*memoryv1.RestoreVersionResponse, error) {
	request := &memoryv1.RestoreVersionRequest{Path: path, Version: version}
	return send(ctx, c.admin.RestoreVersion, request, options, RestoreOption.setRestore)
}

// DeleteDocument removes a document from reads, search and tree; its last content is kept as a version unless
// [PurgeVersions] is given.
func (c *Client) DeleteDocument(
	ctx context.Context, path string, options ...DeleteOption,
) (*memoryv1.DeleteDocumentResponse, error) {
	request := &memoryv1.DeleteDocumentRequest{Path: path}
	return send(ctx, c.admin.DeleteDocument, request, options, DeleteOption.setDelete)
}

// GetScopeStats returns how much the scope holds, its limits, and which documents can't be searched.
func (c *Client) GetScopeStats(
	ctx context.Context, options ...CallOption,
) (*memoryv1.GetScopeStatsResponse, error) {
	return send(ctx, c.admin.GetScopeStats, &memoryv1.GetScopeStatsRequest{}, options, onCall)
}
