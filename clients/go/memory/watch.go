package memory

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// WatchEvents iterates over what happens to the scope's memory, as it happens, until the loop is left or the context
// ends. The first message has no event: from then on nothing is missed. Each message has a cursor for [FromCursor]; keep
// it with what you did about the event.
//
// A connection that breaks and a server that stops are followed by another try with the last cursor, as often as the
// [RetryPolicy] says without anything having come. After an error it ends.
func (c *Client) WatchEvents(
	ctx context.Context, options ...WatchOption,
) iter.Seq2[*memoryv1.WatchEventsResponse, error] {
	return func(yield func(*memoryv1.WatchEventsResponse, error) bool) {
		request := &memoryv1.WatchEventsRequest{}
		rest, err := apply(request, options, WatchOption.setWatch)
		if err != nil {
			yield(nil, err)
			return
		}
		own, _ := c.session.split(rest)
		ctx, cancel := own.bound(ctx, 0)
		defer cancel()
		watch := watch{client: c, request: request, options: rest, yield: yield}
		watch.run(ctx)
	}
}

// watch is one watch and its place, which is the cursor of its request.
type watch struct {
	client  *Client
	request *memoryv1.WatchEventsRequest
	options []grpc.CallOption
	yield   func(*memoryv1.WatchEventsResponse, error) bool
	tries   tries
	left    bool
}

func (w *watch) run(ctx context.Context) {
	w.tries = tries{pacing: w.client.session.pacing}
	for {
		err := w.follow(ctx)
		if w.left || errors.Is(err, io.EOF) {
			return
		}
		var failure *Error
		if errors.As(err, &failure) {
			err = w.tries.waitAfter(ctx, failure)
		}
		if err != nil {
			w.yield(nil, err)
			return
		}
	}
}

// follow hands out what one stream brings, and returns why the stream ended; left is set when the loop was left. With
// each message the tries are counted anew: what is bounded is how long a service may be away, not how often.
func (w *watch) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.client.events.WatchEvents(ctx, w.request, w.options...)
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		w.request.Cursor = message.GetCursor()
		w.tries.failed = 0
		if !w.yield(message, nil) {
			w.left = true
			return nil
		}
	}
}
