//! What hosts do with messages often enough to have a word for it.

use serde_json::json;

use crate::v1::{InteractionMessage, InvokeToolResponse, MessageRole};

impl InteractionMessage {
    /// What the human said.
    pub fn user(content: impl Into<String>) -> Self {
        Self::of(MessageRole::User, content)
    }

    /// What the agent said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::of(MessageRole::Assistant, content)
    }

    /// What the host said.
    pub fn system(content: impl Into<String>) -> Self {
        Self::of(MessageRole::System, content)
    }

    /// What a tool answered.
    pub fn tool(content: impl Into<String>) -> Self {
        Self::of(MessageRole::Tool, content)
    }

    /// The same message with its speaker's name, at most 256 bytes.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    fn of(role: MessageRole, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into(), name: String::new() }
    }
}

impl InvokeToolResponse {
    /// The text of the model's tool result: the output, or the error as a JSON object.
    pub fn for_model(&self) -> String {
        match &self.error {
            None => self.output_json.clone(),
            Some(error) => {
                json!({"error": {"kind": error.kind, "reason": error.reason, "message": error.message}}).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::ToolError;

    #[test]
    fn a_model_gets_the_output_or_the_error_as_json() {
        let done = InvokeToolResponse { output_json: "[]".into(), ..Default::default() };
        assert_eq!(done.for_model(), "[]");
        let error = ToolError { kind: "input".into(), reason: "INVALID_PATH".into(), message: "\"x\" isn't".into() };
        let failed = InvokeToolResponse { error: Some(error), ..Default::default() };
        let told: serde_json::Value = serde_json::from_str(&failed.for_model()).unwrap();
        assert_eq!(told, json!({"error": {"kind": "input", "reason": "INVALID_PATH", "message": "\"x\" isn't"}}));
    }

    #[test]
    fn each_speaker_has_its_role() {
        let messages = [
            (InteractionMessage::user("a"), MessageRole::User),
            (InteractionMessage::assistant("a"), MessageRole::Assistant),
            (InteractionMessage::system("a"), MessageRole::System),
            (InteractionMessage::tool("a").named("search"), MessageRole::Tool),
        ];
        for (message, role) in &messages {
            assert_eq!(message.role(), *role);
        }
        assert_eq!(messages[3].0.name, "search");
    }
}
