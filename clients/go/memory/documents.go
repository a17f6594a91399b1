package memory

import (
	"context"

	"google.golang.org/grpc"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// rpc is a method of a generated stub.
type rpc[R, A any] func(context.Context, *R, ...grpc.CallOption) (*A, error)

// send makes one call with its options, of which set puts those that are arguments into the request.
func send[R, A, O any](
	ctx context.Context, call rpc[R, A], request *R, options []O, set func(O, *R) error,
) (*A, error) {
	rest, err := apply(request, options, set)
	if err != nil {
		return nil, err
	}
	return call(ctx, request, rest...)
}

// Write appends to a document, replaces it or patches it, as the options say; by default it appends to the daily log. The
// change is on the disk when it returns.
//
// Content is ignored by a [Patch] and by the target "bootstrap". A precondition that doesn't hold is
// [ReasonContentChanged]. Fields of Metadata that can't be put as JSON are an error before anything is sent.
func (c *Client) Write(ctx context.Context, content string, options ...WriteOption) (*memoryv1.WriteResponse, error) {
	return send(ctx, c.memory.Write, &memoryv1.WriteRequest{Content: content}, options, WriteOption.setWrite)
}

// Read returns one document whole. A missing one is [ReasonNotFound].
func (c *Client) Read(ctx context.Context, path string, options ...CallOption) (*memoryv1.ReadResponse, error) {
	return send(ctx, c.memory.Read, &memoryv1.ReadRequest{Path: path}, options, onCall)
}

// Search returns the documents that match a question in plain words, best first. The query is any text of at most 4,096
// bytes; nothing in it is syntax.
func (c *Client) Search(ctx context.Context, query string, options ...SearchOption) (*memoryv1.SearchResponse, error) {
	return send(ctx, c.memory.Search, &memoryv1.SearchRequest{Query: query}, options, SearchOption.setSearch)
}

// Tree lists what is in a folder; an empty path is the scope's root, an unknown folder is empty.
func (c *Client) Tree(ctx context.Context, path string, options ...TreeOption) (*memoryv1.TreeResponse, error) {
	request := &memoryv1.TreeRequest{}
	if path != "" {
		request.Path = &path
	}
	return send(ctx, c.memory.Tree, request, options, TreeOption.setTree)
}

// ProfileSet sets facts about the human user, at least one of [Timezone], [Locale] and [Location]; the others stay as they
// are. The profile is the user's, whatever the agent.
func (c *Client) ProfileSet(ctx context.Context, options ...ProfileOption) (*memoryv1.ProfileSetResponse, error) {
	return send(ctx, c.memory.ProfileSet, &memoryv1.ProfileSetRequest{}, options, ProfileOption.setProfile)
}
