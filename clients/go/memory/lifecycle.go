package memory

import (
	"context"

	"google.golang.org/grpc"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// RetrieveContext returns what memory adds to a prompt: both lanes, each passage in its envelope, as one block to paste.
// The query is any text of at most 4,096 bytes, such as the user's message.
func (c *Client) RetrieveContext(
	ctx context.Context, query string, options ...ContextOption,
) (*memoryv1.RetrieveContextResponse, error) {
	asked, rest, err := lanesOf(options)
	if err != nil {
		return nil, err
	}
	request := &memoryv1.RetrieveContextRequest{
		Query: query, MaxSnippets: asked.maxSnippets, ContextProfileId: asked.profile,
	}
	return c.lifecycle.RetrieveContext(ctx, request, rest...)
}

// ReadLongTerm returns MEMORY.md, whatever the query, and then passages of the scope's documents, as they are.
func (c *Client) ReadLongTerm(
	ctx context.Context, query string, options ...ContextOption,
) (*memoryv1.ReadLongTermResponse, error) {
	asked, rest, err := lanesOf(options)
	if err != nil {
		return nil, err
	}
	request := &memoryv1.ReadLongTermRequest{
		Query: query, MaxSnippets: asked.maxSnippets, ContextProfileId: asked.profile,
	}
	return c.lifecycle.ReadLongTerm(ctx, request, rest...)
}

// ReadShortTerm returns passages of what the scope's thread recorded, as they are; nothing without a thread.
func (c *Client) ReadShortTerm(
	ctx context.Context, query string, options ...ContextOption,
) (*memoryv1.ReadShortTermResponse, error) {
	asked, rest, err := lanesOf(options)
	if err != nil {
		return nil, err
	}
	request := &memoryv1.ReadShortTermRequest{
		Query: query, MaxSnippets: asked.maxSnippets, ContextProfileId: asked.profile,
	}
	return c.lifecycle.ReadShortTerm(ctx, request, rest...)
}

// RecordInteraction stores a turn's exchange in the scope's thread; without a thread nothing is stored. The run id names
// the turn: the same run again overwrites its record and counts once.
func (c *Client) RecordInteraction(
	ctx context.Context, turnRunID string, messages []*memoryv1.InteractionMessage, options ...RecordOption,
) (*memoryv1.RecordInteractionResponse, error) {
	request := &memoryv1.RecordInteractionRequest{TurnRunId: turnRunID, Messages: messages}
	return send(ctx, c.lifecycle.RecordInteraction, request, options, RecordOption.setRecord)
}

// ProfileRead returns the human's profile as it is stored, whatever the agent; Document is nil when there is none.
func (c *Client) ProfileRead(ctx context.Context, options ...CallOption) (*memoryv1.ProfileReadResponse, error) {
	return send(ctx, c.lifecycle.ProfileRead, &memoryv1.ProfileReadRequest{}, options, onCall)
}

// ClaimCuration asks for the right to tidy MEMORY.md, which at most one caller has. Claimed is false when nothing is due,
// somebody else has it, or there is no MEMORY.md.
func (c *Client) ClaimCuration(
	ctx context.Context, options ...ClaimOption,
) (*memoryv1.ClaimCurationResponse, error) {
	return send(ctx, c.lifecycle.ClaimCuration, &memoryv1.ClaimCurationRequest{}, options, ClaimOption.setClaim)
}

// CompleteCuration ends a claim: it replaces MEMORY.md, unless somebody changed it since. A lease that is over is
// [ReasonLeaseInvalid]; after [ErrUnsafeText] the lease holds for another try.
func (c *Client) CompleteCuration(
	ctx context.Context, leaseID string, options ...CompleteOption,
) (*memoryv1.CompleteCurationResponse, error) {
	request := &memoryv1.CompleteCurationRequest{LeaseId: leaseID}
	return send(ctx, c.lifecycle.CompleteCuration, request, options, CompleteOption.setComplete)
}

// lanes are the optional arguments that the three requests for passages share.
type lanes struct {
	maxSnippets int32
	profile     string
}

func lanesOf(options []ContextOption) (lanes, []grpc.CallOption, error) {
	asked := lanes{maxSnippets: 50}
	rest, err := apply(&asked, options, ContextOption.setContext)
	return asked, rest, err
}
