//! Whose memory a call is about, and how that travels: as call metadata, beside the request and never in it.

use tonic::metadata::{AsciiMetadataKey, BinaryMetadataKey, MetadataMap, MetadataValue};

/// Whose memory: set by the host, never by a model.
///
/// Documents of scopes that differ in tenant, user, agent or project never meet. An absent agent or project is a scope
/// of its own, not a wildcard. The thread is the active conversation and keeps nothing apart.
///
/// Each value is 1 to 256 bytes without `/`, `\`, `:` and control characters; the service refuses others as
/// [`Reason::ScopeInvalid`](crate::Reason::ScopeInvalid). Values that headers can't carry as they are travel as bytes.
///
/// What the credential pins may be left out, down to [`Scope::default`]: the service fills it in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The tenant; `None` is the credential's.
    pub tenant: Option<String>,
    /// The human user; `None` is the credential's.
    pub user: Option<String>,
    /// The agent; `None` is the scope without one, unless the credential pins it.
    pub agent: Option<String>,
    /// The project; `None` is the scope without one, unless the credential pins it.
    pub project: Option<String>,
    /// The active conversation; without one nothing is recorded, and the short-term lane is empty.
    pub thread: Option<String>,
}

impl Scope {
    /// The scope of a user without agent, project and thread.
    pub fn new(tenant: impl Into<String>, user: impl Into<String>) -> Self {
        Self { tenant: Some(tenant.into()), user: Some(user.into()), ..Self::default() }
    }

    /// The same scope with this agent.
    #[must_use]
    pub fn agent(self, agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..self }
    }

    /// The same scope with this project.
    #[must_use]
    pub fn project(self, project: impl Into<String>) -> Self {
        Self { project: Some(project.into()), ..self }
    }

    /// The same scope with this active conversation.
    #[must_use]
    pub fn thread(self, thread: impl Into<String>) -> Self {
        Self { thread: Some(thread.into()), ..self }
    }

    pub(crate) fn write_to(&self, headers: &mut MetadataMap) {
        put(headers, "x-ironclaw-tenant-id", self.tenant.as_deref());
        put(headers, "x-ironclaw-user-id", self.user.as_deref());
        put(headers, "x-ironclaw-agent-id", self.agent.as_deref());
        put(headers, "x-ironclaw-project-id", self.project.as_deref());
        put(headers, "x-ironclaw-thread-id", self.thread.as_deref());
    }
}

/// Adds a value in the form that arrives unchanged, and only in that form: a key sent twice is refused.
///
/// Headers carry printable ASCII, and proxies and peers trim the spaces around it; anything else goes under `-bin`.
pub(crate) fn put(headers: &mut MetadataMap, key: &'static str, value: Option<&str>) {
    let Some(value) = value else { return };
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && value == value.trim_matches(' ');
    match MetadataValue::try_from(value) {
        Ok(text) if plain => drop(headers.insert(AsciiMetadataKey::from_static(key), text)),
        _ => {
            let key = BinaryMetadataKey::from_bytes(format!("{key}-bin").as_bytes()).expect("our keys are valid");
            headers.insert_bin(key, MetadataValue::from_bytes(value.as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(scope: &Scope) -> MetadataMap {
        let mut headers = MetadataMap::new();
        scope.write_to(&mut headers);
        headers
    }

    #[test]
    fn plain_values_travel_as_text_and_absent_ones_not_at_all() {
        let sent = headers(&Scope::new("acme", "ann").agent("coder").project("my project").thread("t-1"));
        let expected =
            [("tenant", "acme"), ("user", "ann"), ("agent", "coder"), ("project", "my project"), ("thread", "t-1")];
        for (axis, value) in expected {
            assert_eq!(sent.get(format!("x-ironclaw-{axis}-id")).unwrap(), value);
        }
        assert_eq!(sent.len(), expected.len());
        assert_eq!(headers(&Scope::new("acme", "ann")).len(), 2);
        assert!(headers(&Scope::default()).is_empty());
    }

    #[test]
    fn other_values_travel_as_bytes_and_only_so() {
        for value in ["王芳", " ann", "ann ", "an\tn", "an\nn", "\u{7f}"] {
            let sent = headers(&Scope::new("acme", value));
            assert_eq!(sent.get_bin("x-ironclaw-user-id-bin").unwrap().to_bytes().unwrap(), value.as_bytes());
            assert!(sent.get("x-ironclaw-user-id").is_none(), "{value:?} was sent twice");
        }
    }

    #[test]
    fn an_empty_value_is_sent_for_the_service_to_refuse() {
        assert_eq!(headers(&Scope::new("acme", "")).get("x-ironclaw-user-id").unwrap(), "");
    }
}
