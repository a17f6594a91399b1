//! The optional arguments of calls, by their names on the wire. What isn't set isn't sent, so absent and zero differ.

use serde_json::{Map, Value};

use crate::Call;
use crate::json::to_struct;
use crate::v1::write_request::Precondition;
use crate::v1::*;

impl Call<WriteRequest> {
    /// `memory`, `heartbeat`, `bootstrap`, `daily_log` (the default), or a relative path.
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.request.target = Some(target.into());
        self
    }

    /// Adds to the document (the default) or replaces it. `daily_log` always appends.
    pub fn append(mut self, append: bool) -> Self {
        self.request.append = Some(append);
        self
    }

    /// The exact text to be replaced; switches to patch mode and needs `new_string`.
    pub fn old_string(mut self, text: impl Into<String>) -> Self {
        self.request.old_string = Some(text.into());
        self
    }

    /// What stands in place of `old_string`, not empty.
    pub fn new_string(mut self, text: impl Into<String>) -> Self {
        self.request.new_string = Some(text.into());
        self
    }

    /// Patches every occurrence instead of the first.
    pub fn replace_all(mut self, all: bool) -> Self {
        self.request.replace_all = Some(all);
        self
    }

    /// Laid over the document's metadata key by key. Numbers travel as doubles.
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.request.metadata = Some(to_struct(metadata));
        self
    }

    /// The IANA zone whose date names the daily log. Default: the profile's, else UTC.
    pub fn timezone(mut self, zone: impl Into<String>) -> Self {
        self.request.timezone = Some(zone.into());
        self
    }

    /// Writes only if this is the document's hash, 64 hex digits; else
    /// [`Reason::ContentChanged`](crate::Reason::ContentChanged). Takes the place of `must_not_exist`.
    pub fn expected_sha256(mut self, hash: impl Into<String>) -> Self {
        self.request.precondition = Some(Precondition::ExpectedSha256(hash.into()));
        self
    }

    /// Writes only if there is no such document; else [`Reason::ContentChanged`](crate::Reason::ContentChanged). Takes
    /// the place of `expected_sha256`.
    pub fn must_not_exist(mut self) -> Self {
        self.request.precondition = Some(Precondition::MustNotExist(true));
        self
    }
}

impl Call<SearchRequest> {
    /// The most results, clamped to 1 to 20. Default 5.
    pub fn limit(mut self, limit: i32) -> Self {
        self.request.limit = Some(limit);
        self
    }

    /// Keeps to paths that start with it, such as `daily/`.
    pub fn path_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.request.path_prefix = prefix.into();
        self
    }

    /// Drops what scores below it, 0 to 1.
    pub fn min_score(mut self, score: f64) -> Self {
        self.request.min_score = Some(score);
        self
    }
}

impl Call<TreeRequest> {
    /// The folder, with or without a trailing slash. Default: the scope's root.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.request.path = Some(path.into());
        self
    }

    /// How many levels to open, clamped to 1 to 10. Default 1.
    pub fn depth(mut self, depth: i32) -> Self {
        self.request.depth = Some(depth);
        self
    }
}

impl Call<ProfileSetRequest> {
    /// An IANA zone such as `Asia/Shanghai`.
    pub fn timezone(mut self, zone: impl Into<String>) -> Self {
        self.request.timezone = Some(zone.into());
        self
    }

    /// A BCP 47 tag such as `zh-CN`.
    pub fn locale(mut self, tag: impl Into<String>) -> Self {
        self.request.locale = Some(tag.into());
        self
    }

    /// Free text of 1 to 200 characters.
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.request.location = Some(location.into());
        self
    }
}

impl Call<RetrieveContextRequest> {
    /// The most snippets of each lane, clamped to 0 to 50; the block's 4,096 bytes bound them too. Default 50.
    pub fn max_snippets(mut self, most: i32) -> Self {
        self.request.max_snippets = most;
        self
    }

    /// The host's name for how context is built; `memory_disabled` returns nothing.
    pub fn context_profile_id(mut self, id: impl Into<String>) -> Self {
        self.request.context_profile_id = id.into();
        self
    }
}

impl Call<ReadLongTermRequest> {
    /// The host's name for how context is built; `memory_disabled` returns nothing.
    pub fn context_profile_id(mut self, id: impl Into<String>) -> Self {
        self.request.context_profile_id = id.into();
        self
    }
}

impl Call<ReadShortTermRequest> {
    /// The host's name for how context is built; `memory_disabled` returns nothing.
    pub fn context_profile_id(mut self, id: impl Into<String>) -> Self {
        self.request.context_profile_id = id.into();
        self
    }
}

impl Call<RecordInteractionRequest> {
    /// Laid over the record's metadata key by key. Numbers travel as doubles.
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.request.metadata = Some(to_struct(metadata));
        self
    }

    /// Records the run without counting it towards curation.
    pub fn background(mut self, background: bool) -> Self {
        self.request.background = background;
        self
    }
}

impl Call<ClaimCurationRequest> {
    /// How long the claim holds, 1 to 3,600 seconds. Default 300.
    pub fn lease_seconds(mut self, seconds: i32) -> Self {
        self.request.lease_seconds = Some(seconds);
        self
    }

    /// Claims even when nothing is due.
    pub fn force(mut self, force: bool) -> Self {
        self.request.force = force;
        self
    }
}

impl Call<CompleteCurationRequest> {
    /// The new text of MEMORY.md; not set when nothing needed to change.
    pub fn content(mut self, content: impl Into<String>) -> Self {
        self.request.content = Some(content.into());
        self
    }

    /// What became of the lines.
    pub fn report(mut self, report: CurationReport) -> Self {
        self.request.report = Some(report);
        self
    }

    /// Gives the lease back without a curation having taken place.
    pub fn abandon(mut self, abandon: bool) -> Self {
        self.request.abandon = abandon;
        self
    }
}

impl Call<RestoreVersionRequest> {
    /// Restores only if this is the hash of the current content.
    pub fn expected_sha256(mut self, hash: impl Into<String>) -> Self {
        self.request.expected_sha256 = Some(hash.into());
        self
    }
}

impl Call<DeleteDocumentRequest> {
    /// Deletes only if this is the hash of the current content.
    pub fn expected_sha256(mut self, hash: impl Into<String>) -> Self {
        self.request.expected_sha256 = Some(hash.into());
        self
    }

    /// Removes the kept versions too, which can't be undone.
    pub fn purge_versions(mut self, purge: bool) -> Self {
        self.request.purge_versions = purge;
        self
    }
}
