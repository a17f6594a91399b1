"""Every setting, in one frozen model; with the command line, the only reader of the environment.

A value comes from a flag, else the environment (`IRONCLAW_MEMORY_` and the name in capitals), else the TOML file given
by `--config`, else the default here. An unknown name is an error in each of the three.
"""

from __future__ import annotations

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

ENVIRONMENT_PREFIX: Final = "IRONCLAW_MEMORY_"

CLIENT_VARIABLES: Final = frozenset(
    {"SERVER", "TENANT", "USER", "AGENT", "PROJECT", "THREAD", "CURATOR_BASE_URL", "CURATOR_MODEL", "CURATOR_API_KEY"}
) | frozenset({"TOKEN", "CA", "CERTIFICATE", "PRIVATE_KEY", "MCP_TOKEN"})
"""Read by the client commands, so no unknown settings of the server."""


class SettingsError(Exception):
    """The configuration can't be used; the message is one line for the operator."""


class Settings(BaseModel):
    """How the service runs. Sizes are in bytes, times in seconds, unless the name says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listen: str = Field(
        "127.0.0.1:50051",
        description="Where to serve: HOST:PORT (port 0 takes a free one) or unix:/PATH. Loopback by default, since "
        "without credentials nothing else is safe.",
    )
    data_dir: Path = Field(
        Path("data"),
        description="The folder that holds everything; made with mode 0700 when its parent exists.",
    )
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that share the port; one per core is enough. A connection stays with one.",
    )
    max_in_flight: int = Field(
        128,
        ge=1,
        le=4096,
        description="Calls that a worker has taken on and not answered; the next is refused with OVERLOADED.",
    )
    default_deadline_seconds: float = Field(
        10.0, gt=0, le=3600, description="For callers that set no deadline; far above any ordinary call."
    )
    max_deadline_seconds: float = Field(
        30.0, gt=0, le=3600, description="The longest a call may take, whatever its deadline says."
    )
    drain_delay_seconds: float = Field(
        0.0,
        ge=0,
        le=600,
        description="Between health turning NOT_SERVING and the port closing; 5 to 10 behind a load balancer.",
    )
    grace_seconds: float = Field(
        20.0, ge=0, le=600, description="How long calls in flight may take to finish when the server stops."
    )
    max_message_bytes: int = Field(
        4 * 1024 * 1024,
        ge=64 * 1024,
        le=64 * 1024 * 1024,
        description="The largest message either way; what gRPC clients accept by default.",
    )
    document_bytes: int = Field(
        1024 * 1024, ge=1024, le=16 * 1024 * 1024, description="The largest document; leaves room in a message."
    )
    scope_documents: int = Field(10_000, ge=1, description="The most documents of one scope.")
    scope_bytes: int = Field(256 * 1024 * 1024, ge=1024, description="The most document bytes of one scope.")
    version_count: int = Field(1_000, ge=0, description="The most versions kept of a document; 0 keeps none.")
    version_bytes: int = Field(
        8 * 1024 * 1024, ge=64 * 1024, description="The most bytes on disk that a document's versions take."
    )
    version_age_days: int = Field(0, ge=0, description="Versions older than this go; 0 keeps them for ever.")
    request_hours: int = Field(24, ge=1, le=24 * 30, description="How long a request id is remembered.")
    curation_turns: int = Field(
        10,
        ge=0,
        le=100_000,
        description="Recorded turns after which MEMORY.md is due for curation, 0 for never; ten add no more than can "
        "be tidied at once.",
    )
    semantic: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether search also goes by meaning, which needs the extra semantic: auto does so where it is "
        "installed. Servers that share a data folder must agree.",
    )
    protected_paths: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated: documents that the safety check guards besides the prompt files.",
    )
    strict_sources: Annotated[tuple[Literal["user", "agent", "tool", "import"], ...], NoDecode] = Field(
        (),
        description="Comma-separated source classes of credentials whose texts a prompt file refuses on the least "
        "finding; tool,import where those bring what strangers wrote.",
    )
    audit_file_bytes: int = Field(
        64 * 1024 * 1024, ge=4096, description="Size at which a worker begins a new file of the audit trail."
    )
    audit_file_hours: int = Field(
        24, ge=1, le=24 * 366, description="Age at which it does, so that yesterday's file can be moved away."
    )
    audit_searches: bool = Field(
        True, description="Whether searches are in the trail, without their words; they may be most of it."
    )
    audit_anchor_seconds: float = Field(
        60.0, ge=1, le=86_400, description="How often the log says where the trail ends, so that cutting its end shows."
    )
    otlp_endpoint: str = Field(
        "",
        description="Where an OpenTelemetry collector takes a copy of the trail over gRPC: http://HOST:PORT, or https; "
        "empty for nowhere. Needs the extra otel.",
    )
    max_watches: int = Field(
        16,
        ge=1,
        le=1024,
        description="WatchEvents streams a worker serves at once; one more is OVERLOADED. Each holds a thread.",
    )
    api_keys: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether callers need API keys: auto asks for them once `ironclaw-memory keys create` made one.",
    )
    jwt_jwks: str = Field("", description="JWKS file with the keys that sign callers' tokens; empty takes no tokens.")
    jwt_issuer: str = Field("", description="The `iss` that tokens must have.")
    jwt_audience: str = Field("", description="The `aud` that tokens must have.")
    jwt_max_lifetime_seconds: int = Field(
        3600, ge=60, le=30 * 86_400, description="The longest that a token may be valid, whatever its issuer says."
    )
    tls_certificate: str = Field("", description="PEM file of the server's certificate chain; empty serves plain.")
    tls_key: str = Field("", description="PEM file of its private key.")
    tls_client_ca: str = Field("", description="PEM file of the authorities whose client certificates are accepted.")
    mtls_grants: str = Field("", description="TOML file that maps names in client certificates to grants.")
    tenant_documents: int = Field(
        0, ge=0, description="The most documents of all scopes of a tenant together; 0 for no limit."
    )
    tenant_bytes: int = Field(
        0, ge=0, description="The most document bytes of all scopes of a tenant together; 0 for no limit."
    )
    tenant_calls_per_second: float = Field(
        0.0, ge=0, description="Calls of one tenant, all workers together; 0 for no limit. A second's worth may burst."
    )
    tenant_write_bytes_per_second: float = Field(
        0.0, ge=0, description="Bytes of one tenant's writing requests, all workers together; 0 for no limit."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe log line; debug has one for each refused call."
    )

    @field_validator("listen")
    @classmethod
    def _check_listen(cls, listen: str) -> str:
        if listen.startswith("unix:"):
            if len(listen) == len("unix:"):
                raise ValueError("unix: needs the path of a socket")
            return listen
        host, colon, port = listen.rpartition(":")
        if not (colon and host and port.isdigit() and int(port) <= 65535):
            raise ValueError("must be HOST:PORT or unix:/PATH")
        return listen

    @field_validator("otlp_endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str) -> str:
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return endpoint

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ValueError("tls_certificate and tls_key go together")
        if self.tls_client_ca and not self.tls_certificate:
            raise ValueError("tls_client_ca needs tls_certificate and tls_key")
        if self.mtls_grants and not self.tls_client_ca:
            raise ValueError("mtls_grants needs tls_client_ca")
        if bool(self.jwt_jwks) != bool(self.jwt_issuer and self.jwt_audience):
            raise ValueError("jwt_jwks, jwt_issuer and jwt_audience go together")
        return self

    @field_validator("semantic")
    @classmethod
    def _check_semantic(cls, semantic: str) -> str:
        if semantic == "on" and find_spec("wordllama") is None:
            raise ValueError("on needs the package wordllama; install ironclaw-memory[semantic]")
        return semantic

    @field_validator("protected_paths", "strict_sources", mode="before")
    @classmethod
    def _split_paths(cls, paths: Any) -> Any:
        return tuple(p for p in paths.split(",") if p) if isinstance(paths, str) else paths


def load_settings(flags: dict[str, Any], config: Path | None = None) -> Settings:
    """Return the settings from flags, environment and file, in this order of precedence.

    Args:
        flags: what the command line gave, by field name.
        config: a TOML file of top-level keys.

    Raises:
        SettingsError: a name is unknown, a value is out of range, or the file can't be read.
    """
    _check_environment()
    _check_file(config)

    class Layered(BaseSettings, Settings):
        model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, frozen=True, env_ignore_empty=True)

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del dotenv_settings, file_secret_settings
            file = (TomlConfigSettingsSource(settings_cls, config),) if config else ()
            return (init_settings, env_settings, *file)

    try:
        return Settings.model_validate(Layered(**flags).model_dump())
    except ValidationError as error:
        raise SettingsError(_first_problem(error)) from None
    except ValueError as error:
        raise SettingsError(str(error).splitlines()[0]) from None


def _check_environment() -> None:
    known = {name.upper() for name in Settings.model_fields} | CLIENT_VARIABLES
    for variable in os.environ:
        if variable.startswith(ENVIRONMENT_PREFIX) and variable.removeprefix(ENVIRONMENT_PREFIX) not in known:
            raise SettingsError(f"environment variable {variable}: there is no such setting")


def _check_file(config: Path | None) -> None:
    if config is None:
        return
    try:
        with config.open("rb") as file:
            names = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"configuration file {config}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"configuration file {config}: not TOML: {error}") from None
    for name in names:
        if name not in Settings.model_fields:
            raise SettingsError(f"configuration file {config}: there is no setting '{name}'")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    name = ".".join(str(part) for part in problem["loc"]) or "settings"
    return f"{name}: {problem['msg'].removeprefix('Value error, ')}"
