package memory

import memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"

// The optional arguments of each method. What isn't given isn't sent, so that the service's own default holds.
type (
	// WriteOption is an optional argument of [Client.Write].
	WriteOption interface {
		setWrite(*memoryv1.WriteRequest) error
	}
	// SearchOption is an optional argument of [Client.Search].
	SearchOption interface {
		setSearch(*memoryv1.SearchRequest) error
	}
	// TreeOption is an optional argument of [Client.Tree].
	TreeOption interface {
		setTree(*memoryv1.TreeRequest) error
	}
	// ProfileOption is an argument of [Client.ProfileSet].
	ProfileOption interface {
		setProfile(*memoryv1.ProfileSetRequest) error
	}
	// VersionsOption is an optional argument of [Client.ListVersions].
	VersionsOption interface {
		setVersions(*memoryv1.ListVersionsRequest) error
	}
	// RestoreOption is an optional argument of [Client.RestoreVersion].
	RestoreOption interface {
		setRestore(*memoryv1.RestoreVersionRequest) error
	}
	// DeleteOption is an optional argument of [Client.DeleteDocument].
	DeleteOption interface {
		setDelete(*memoryv1.DeleteDocumentRequest) error
	}
	// ContextOption is an optional argument of [Client.RetrieveContext], [Client.ReadLongTerm] and [Client.ReadShortTerm].
	ContextOption interface {
		setContext(*lanes) error
	}
	// RecordOption is an optional argument of [Client.RecordInteraction].
	RecordOption interface {
		setRecord(*memoryv1.RecordInteractionRequest) error
	}
	// ClaimOption is an optional argument of [Client.ClaimCuration].
	ClaimOption interface {
		setClaim(*memoryv1.ClaimCurationRequest) error
	}
	// CompleteOption is an optional argument of [Client.CompleteCuration].
	CompleteOption interface {
		setComplete(*memoryv1.CompleteCurationRequest) error
	}
	// WatchOption is an optional argument of [Client.WatchEvents].
	WatchOption interface {
		setWatch(*memoryv1.WatchEventsRequest) error
	}
)

type (
	writeOption    func(*memoryv1.WriteRequest)
	searchOption   func(*memoryv1.SearchRequest)
	treeOption     func(*memoryv1.TreeRequest)
	profileOption  func(*memoryv1.ProfileSetRequest)
	versionsOption func(*memoryv1.ListVersionsRequest)
	deleteOption   func(*memoryv1.DeleteDocumentRequest)
	contextOption  func(*lanes)
	recordOption   func(*memoryv1.RecordInteractionRequest)
	claimOption    func(*memoryv1.ClaimCurationRequest)
	completeOption func(*memoryv1.CompleteCurationRequest)
	watchOption    func(*memoryv1.WatchEventsRequest)
)

func (o writeOption) setWrite(r *memoryv1.WriteRequest) error               { o(r); return nil }
func (o searchOption) setSearch(r *memoryv1.SearchRequest) error            { o(r); return nil }
func (o treeOption) setTree(r *memoryv1.TreeRequest) error                  { o(r); return nil }
func (o profileOption) setProfile(r *memoryv1.ProfileSetRequest) error      { o(r); return nil }
func (o versionsOption) setVersions(r *memoryv1.ListVersionsRequest) error  { o(r); return nil }
func (o deleteOption) setDelete(r *memoryv1.DeleteDocumentRequest) error    { o(r); return nil }
func (o contextOption) setContext(r *lanes) error                           { o(r); return nil }
func (o recordOption) setRecord(r *memoryv1.RecordInteractionRequest) error { o(r); return nil }
func (o claimOption) setClaim(r *memoryv1.ClaimCurationRequest) error       { o(r); return nil }
func (o completeOption) setComplete(r *memoryv1.CompleteCurationRequest) error {
	o(r)
	return nil
}
func (o watchOption) setWatch(r *memoryv1.WatchEventsRequest) error { o(r); return nil }
