package memory

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// Target names the document to write: "memory", "heartbeat", "bootstrap", "daily_log" (the default), or a relative path.
func Target(target string) WriteOption {
	return writeOption(func(r *memoryv1.WriteRequest) { r.Target = &target })
}

// Append tells whether a write adds to the document (the default) or replaces it. The daily log is always added to.
func Append(add bool) WriteOption {
	return writeOption(func(r *memoryv1.WriteRequest) { r.Append = &add })
}

// Patch makes a write replace exact text: the first occurrence of oldString by newString, neither of them empty. The
// content of the write is ignored.
func Patch(oldString, newString string) WriteOption {
	return writeOption(func(r *memoryv1.WriteRequest) { r.OldString, r.NewString = &oldString, &newString })
}

// ReplaceAll makes a patch replace every occurrence.
func ReplaceAll() WriteOption {
	all := true
	return writeOption(func(r *memoryv1.WriteRequest) { r.ReplaceAll = &all })
}

// MustNotExist lets a write only create the document; it takes the place of [ExpectedSHA256].
func MustNotExist() WriteOption {
	return writeOption(func(r *memoryv1.WriteRequest) {
		r.Precondition = &memoryv1.WriteRequest_MustNotExist{MustNotExist: true}
	})
}

// HashOption is an option of the changes that can have a precondition.
type HashOption interface {
	WriteOption
	RestoreOption
	DeleteOption
}

// ExpectedSHA256 lets a change happen only if this is the hash of the document's content, as 64 hex digits; else the
// error is [ReasonContentChanged].
func ExpectedSHA256(hash string) HashOption {
	return expectedSHA256(hash)
}

type expectedSHA256 string

func (h expectedSHA256) setWrite(r *memoryv1.WriteRequest) error {
	r.Precondition = &memoryv1.WriteRequest_ExpectedSha256{ExpectedSha256: string(h)}
	return nil
}

func (h expectedSHA256) setRestore(r *memoryv1.RestoreVersionRequest) error {
	r.ExpectedSha256 = (*string)(&h)
	return nil
}

func (h expectedSHA256) setDelete(r *memoryv1.DeleteDocumentRequest) error {
	r.ExpectedSha256 = (*string)(&h)
	return nil
}

// MetadataOption is an option of what stores a document.
type MetadataOption interface {
	WriteOption
	RecordOption
}

// Metadata is laid over the document's metadata, key by key. Values are what encoding/json can put as JSON.
func Metadata(values map[string]any) MetadataOption {
	return metadataOption(values)
}

type metadataOption map[string]any

func (m metadataOption) setWrite(r *memoryv1.WriteRequest) (err error) {
	r.Metadata, err = m.asStruct()
	return err
}

func (m metadataOption) setRecord(r *memoryv1.RecordInteractionRequest) (err error) {
	r.Metadata, err = m.asStruct()
	return err
}

// asStruct goes by way of JSON, which takes slices and maps of any type where structpb.NewStruct refuses most.
func (m metadataOption) asStruct() (*structpb.Struct, error) {
	text, err := json.Marshal(map[string]any(m))
	if err != nil {
		return nil, fmt.Errorf("ironclaw-memory: the metadata can't be put as JSON: %w", err)
	}
	values := &structpb.Struct{}
	if m == nil {
		return values, nil
	}
	return values, protojson.Unmarshal(text, values)
}

// TimezoneOption is an option of what a time zone matters to.
type TimezoneOption interface {
	WriteOption
	ProfileOption
}

// Timezone is an IANA zone such as "Asia/Shanghai": for a write, the one whose date names the daily log, by default the
// profile's; for the profile, the user's.
func Timezone(zone string) TimezoneOption {
	return timezone(zone)
}

type timezone string

func (z timezone) setWrite(r *memoryv1.WriteRequest) error {
	r.Timezone = (*string)(&z)
	return nil
}

func (z timezone) setProfile(r *memoryv1.ProfileSetRequest) error {
	r.Timezone = (*string)(&z)
	return nil
}

// Locale is the user's BCP 47 tag, such as "zh-CN".
func Locale(tag string) ProfileOption {
	return profileOption(func(r *memoryv1.ProfileSetRequest) { r.Locale = &tag })
}

// Location is where the user is, in free text of 1 to 200 characters.
func Location(text string) ProfileOption {
	return profileOption(func(r *memoryv1.ProfileSetRequest) { r.Location = &text })
}

// Limit is the most results of a search, clamped to 1 to 20. Default 5.
func Limit(results int32) SearchOption {
	return searchOption(func(r *memoryv1.SearchRequest) { r.Limit = &results })
}

// PathPrefix keeps a search to paths that start with it, such as "daily/".
func PathPrefix(prefix string) SearchOption {
	return searchOption(func(r *memoryv1.SearchRequest) { r.PathPrefix = prefix })
}

// MinScore drops what scores below it, 0 to 1.
func MinScore(score float64) SearchOption {
	return searchOption(func(r *memoryv1.SearchRequest) { r.MinScore = &score })
}

// Depth is how many levels of folders to open, clamped to 1 to 10. Default 1.
func Depth(levels int32) TreeOption {
	return treeOption(func(r *memoryv1.TreeRequest) { r.Depth = &levels })
}

// PageSize is how many versions to fetch at a time, at most 1,000; 0 is the service's default.
func PageSize(versions int32) VersionsOption {
	return versionsOption(func(r *memoryv1.ListVersionsRequest) { r.PageSize = versions })
}

// PurgeVersions makes a deletion remove the kept versions too, which can't be undone.
func PurgeVersions() DeleteOption {
	return deleteOption(func(r *memoryv1.DeleteDocumentRequest) { r.PurgeVersions = true })
}

// MaxSnippets is the most snippets of each lane, clamped to 0 to 50. Default 50.
func MaxSnippets(snippets int32) ContextOption {
	return contextOption(func(l *lanes) { l.maxSnippets = snippets })
}

// ContextProfile is the host's name for how context is built; "memory_disabled" returns nothing.
func ContextProfile(id string) ContextOption {
	return contextOption(func(l *lanes) { l.profile = id })
}

// Background records a run without counting it towards curation.
func Background() RecordOption {
	return recordOption(func(r *memoryv1.RecordInteractionRequest) { r.Background = true })
}

// Lease is how long a claim holds, 1 second to 1 hour, in whole seconds rounded up. Default 5 minutes.
func Lease(duration time.Duration) ClaimOption {
	seconds := int32(min(math.Ceil(duration.Seconds()), math.MaxInt32))
	return claimOption(func(r *memoryv1.ClaimCurationRequest) { r.LeaseSeconds = &seconds })
}

// Force claims a curation even when none is due.
func Force() ClaimOption {
	return claimOption(func(r *memoryv1.ClaimCurationRequest) { r.Force = true })
}

// Curated is the new text of MEMORY.md; without it nothing needed to change.
func Curated(content string) CompleteOption {
	return completeOption(func(r *memoryv1.CompleteCurationRequest) { r.Content = &content })
}

// Report says what became of the lines of the old text.
func Report(report *memoryv1.CurationReport) CompleteOption {
	return completeOption(func(r *memoryv1.CompleteCurationRequest) { r.Report = report })
}

// Abandon gives a lease back without a curation having taken place.
func Abandon() CompleteOption {
	return completeOption(func(r *memoryv1.CompleteCurationRequest) { r.Abandon = true })
}

// FromCursor goes on after the message of an earlier watch that had this cursor; without it a watch begins now.
func FromCursor(cursor string) WatchOption {
	return watchOption(func(r *memoryv1.WatchEventsRequest) { r.Cursor = cursor })
}

// WholeTenant watches all scopes of the tenant; it needs the permission "events".
func WholeTenant() WatchOption {
	return watchOption(func(r *memoryv1.WatchEventsRequest) { r.WholeTenant = true })
}

// Kinds keeps a watch to these kinds of event.
func Kinds(kinds ...memoryv1.EventKind) WatchOption {
	return watchOption(func(r *memoryv1.WatchEventsRequest) { r.Kinds = kinds })
}
