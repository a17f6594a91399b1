//! The tool catalogue as the function definitions of model APIs, and the way back from a model's tool name.
//!
//! Tool ids have dots, which the OpenAI and Anthropic APIs refuse in a function's name: `ironclaw.memory.profile_set`
//! becomes `ironclaw_memory_profile_set`, in the definition and in every text of the catalogue that speaks of the tool,
//! since a model calls what it reads. Definitions are JSON values, ready to be sent.
//!
//! Each function that reads the tools' schemas returns an error when one isn't JSON, which the service never sends.

use std::borrow::Cow;

use serde_json::{Error, Value, json};

use crate::v1::{ListToolsResponse, Tool};

const PREFIX: &str = "ironclaw.memory.";
const MAPPED_PREFIX: &str = "ironclaw_memory_";

/// How tools are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// With underscores, as every model API takes them.
    Mapped,
    /// By their ids, with dots, for hosts that offer them so.
    Dotted,
}

impl Names {
    /// The text with the tools named this way.
    fn apply(self, text: &str) -> String {
        match self {
            Self::Mapped => text.replace(PREFIX, MAPPED_PREFIX),
            Self::Dotted => text.to_owned(),
        }
    }
}

/// A tool's id as a name that every model API takes.
pub fn function_name(tool_id: &str) -> String {
    tool_id.replace('.', "_")
}

/// The tool's id for a name in either form; a name that is neither stays as it is, for the service to refuse.
///
/// Only the prefix is mapped back, so the underscore of `profile_set` stays one.
pub fn tool_id(name: &str) -> Cow<'_, str> {
    match name.strip_prefix(MAPPED_PREFIX) {
        Some(tool) => Cow::Owned(format!("{PREFIX}{tool}")),
        None => Cow::Borrowed(name),
    }
}

/// The catalogue's guidance for a system prompt.
///
/// `with_prompts` adds the tools' prompts, for APIs whose descriptions are too short for them ([`for_openai_chat`]).
pub fn system_prompt(catalogue: &ListToolsResponse, with_prompts: bool, names: Names) -> String {
    let prompts = catalogue.tools.iter().filter(|_| with_prompts).map(|tool| tool.prompt.trim());
    let parts = std::iter::once(catalogue.guidance.trim()).chain(prompts);
    names.apply(&parts.collect::<Vec<_>>().join("\n\n"))
}

/// The tools for OpenAI's Chat Completions API, which nests the function.
///
/// A description there may have at most 1,024 characters, so it is the tool's one sentence; the tools' prompts go into
/// the system prompt, with [`system_prompt`]. `strict` is off: it would make every optional argument required.
pub fn for_openai_chat(tools: &[Tool]) -> Result<Vec<Value>, Error> {
    tools.iter().map(|tool| Ok(json!({"type": "function", "function": openai_function(tool)?}))).collect()
}

/// The tools for OpenAI's Responses API, which is flat; else as [`for_openai_chat`].
pub fn for_openai_responses(tools: &[Tool]) -> Result<Vec<Value>, Error> {
    tools.iter().map(|tool| Ok(with(openai_function(tool)?, "type", "function".into()))).collect()
}

/// The tools for the Anthropic Messages API; the description holds the tool's prompt too.
pub fn for_anthropic(tools: &[Tool]) -> Result<Vec<Value>, Error> {
    let definition = |tool: &Tool| {
        Ok(json!({
            "name": function_name(&tool.id),
            "description": Names::Mapped.apply(&long_description(tool)),
            "input_schema": schema(&tool.input_schema_json, Names::Mapped)?,
        }))
    };
    tools.iter().map(definition).collect()
}

/// The tools as the Model Context Protocol's `tools/list` has them, which allows dots in names.
///
/// An output schema is only given where it is of an object, as the protocol wants it; `tree` returns an array.
/// [`Names::Mapped`] is for hosts that hand names to a model API as they are.
pub fn for_mcp(tools: &[Tool], names: Names) -> Result<Vec<Value>, Error> {
    tools.iter().map(|tool| mcp_tool(tool, names)).collect()
}

fn openai_function(tool: &Tool) -> Result<Value, Error> {
    Ok(json!({
        "name": function_name(&tool.id),
        "description": Names::Mapped.apply(&tool.description),
        "parameters": schema(&tool.input_schema_json, Names::Mapped)?,
        "strict": false,
    }))
}

fn mcp_tool(tool: &Tool, names: Names) -> Result<Value, Error> {
    let definition = json!({
        "name": names.apply(&tool.id),
        "description": names.apply(&long_description(tool)),
        "inputSchema": schema(&tool.input_schema_json, names)?,
        "annotations": {"readOnlyHint": !tool.writes, "openWorldHint": false},
    });
    let output = schema(&tool.output_schema_json, names)?;
    Ok(if output["type"] == "object" { with(definition, "outputSchema", output) } else { definition })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

fn long_description(tool: &Tool) -> String {
    format!("{}\n\n{}", tool.description, tool.prompt).trim().to_owned()
}

/// A JSON Schema without what only says where it is from: a model needs neither `$schema` nor `$id`.
fn schema(text: &str, names: Names) -> Result<Value, Error> {
    let mut schema: Value = serde_json::from_str(&names.apply(text))?;
    if let Some(object) = schema.as_object_mut() {
        object.retain(|key, _| key != "$schema" && key != "$id");
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 5] = ["write", "read", "search", "tree", "profile_set"];

    fn write() -> Tool {
        Tool {
            id: "ironclaw.memory.write".into(),
            description: "Stores a fact.".into(),
            input_schema_json: r#"{"$schema": "s", "$id": "x", "type": "object", "properties": {}}"#.into(),
            output_schema_json: r#"{"type": "object"}"#.into(),
            prompt: "Search with ironclaw.memory.search first.".into(),
            writes: true,
        }
    }

    fn tree() -> Tool {
        Tool {
            id: "ironclaw.memory.tree".into(),
            description: "Lists.".into(),
            output_schema_json: r#"{"type": "array"}"#.into(),
            prompt: String::new(),
            writes: false,
            ..write()
        }
    }

    #[test]
    fn names_go_out_legal_and_come_back_whole() {
        for tool in TOOLS {
            let id = format!("ironclaw.memory.{tool}");
            let mapped = function_name(&id);
            assert!(mapped.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{mapped}");
            assert_eq!(tool_id(&mapped), id);
            assert_eq!(tool_id(&id), id);
        }
    }

    #[test]
    fn a_foreign_name_stays_as_it_is() {
        for name in ["weather", "", "ironclaw.memory", "memory_write"] {
            assert_eq!(tool_id(name), name);
        }
    }

    #[test]
    fn openai_chat_nests_the_function_and_responses_is_flat() {
        let function = json!({
            "name": "ironclaw_memory_write",
            "description": "Stores a fact.",
            "parameters": {"type": "object", "properties": {}},
            "strict": false,
        });
        assert_eq!(for_openai_chat(&[write()]).unwrap(), [json!({"type": "function", "function": function})]);
        assert_eq!(for_openai_responses(&[write()]).unwrap(), [with(function, "type", "function".into())]);
    }

    #[test]
    fn anthropic_gets_the_prompt_in_the_description_with_names_that_it_can_call() {
        let tools = for_anthropic(&[write(), tree()]).unwrap();
        assert_eq!(tools[0]["description"], "Stores a fact.\n\nSearch with ironclaw_memory_search first.");
        assert_eq!(tools[0]["input_schema"], json!({"type": "object", "properties": {}}));
        assert_eq!(tools[1]["description"], "Lists.");
    }

    #[test]
    fn mcp_keeps_dots_where_told_and_gives_output_schemas_of_objects_only() {
        let dotted = for_mcp(&[write(), tree()], Names::Dotted).unwrap();
        assert_eq!(dotted[0]["name"], "ironclaw.memory.write");
        assert_eq!(dotted[0]["outputSchema"], json!({"type": "object"}));
        assert_eq!(dotted[0]["annotations"], json!({"readOnlyHint": false, "openWorldHint": false}));
        assert!(dotted[0]["description"].as_str().unwrap().contains("ironclaw.memory.search"));
        assert_eq!(dotted[1].get("outputSchema"), None);
        assert_eq!(dotted[1]["annotations"]["readOnlyHint"], true);
        let mapped = for_mcp(&[write()], Names::Mapped).unwrap();
        assert_eq!(mapped[0]["name"], "ironclaw_memory_write");
        assert!(!mapped[0].to_string().contains("ironclaw.memory"));
    }

    #[test]
    fn the_system_prompt_follows_the_names() {
        let catalogue = ListToolsResponse { tools: vec![write()], guidance: "Use ironclaw.memory.write.\n".into() };
        assert_eq!(system_prompt(&catalogue, false, Names::Mapped), "Use ironclaw_memory_write.");
        let long = system_prompt(&catalogue, true, Names::Dotted);
        assert_eq!(long, "Use ironclaw.memory.write.\n\nSearch with ironclaw.memory.search first.");
    }

    #[test]
    fn a_schema_that_is_no_json_is_an_error() {
        let broken = Tool { input_schema_json: "{".into(), ..write() };
        assert!(for_openai_chat(&[broken]).is_err());
    }
}
