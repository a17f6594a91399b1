"""Client certificates: the map from their names to grants."""

from __future__ import annotations

import pytest

from ironclaw_memory.credentials.authenticator import Authenticator, Missing, Presented
from ironclaw_memory.credentials.certificates import CertificateGrants, parse_certificate_grants
from ironclaw_memory.credentials.problem import CredentialsError, Refused

SPIFFE = "spiffe://example.org/agent-host"
GRANT = 'tenant = "acme"\nusers = "any"\npermissions = ["read"]\n'


@pytest.fixture
def grants(tmp_path):
    file = tmp_path / "grants.toml"
    file.write_text(f'["{SPIFFE}"]\n{GRANT}\n["Importer.example.org"]\n{GRANT}source = "import"\n')
    return CertificateGrants(file)


def test_a_known_name_proves_its_grant(grants):
    """A SPIFFE URI and a DNS name, the latter in any case, beside names that nobody knows."""
    assert grants.prove(["host.example", SPIFFE]).name == f"certificate:{SPIFFE}"
    assert grants.prove(["IMPORTER.example.ORG"]).grant.source == "import"


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["other.example"],
        [f"{SPIFFE}/"],
        [SPIFFE.upper()],
        ["x.importer.example.org"],
        [SPIFFE, "importer.example.org"],
    ],
    ids=str,
)
def test_no_name_a_near_miss_and_several_names_are_refused(names, grants):
    """A name counts whole; a certificate that could be two callers is neither."""
    with pytest.raises(Refused):
        grants.prove(names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        '"a.example" = 1',
        f'["*.example.org"]\n{GRANT}',
        f'["localhost"]\n{GRANT}',
        f'["spiffe://"]\n{GRANT}',
        f'["ann@example.org"]\n{GRANT}',
        '["a.example"]\ntenant = "acme"',
        f'["a.example"]\n{GRANT}["A.example"]\n{GRANT}',
        f'["a.example"]\n{GRANT}role = "x"',
    ],
)
def test_a_file_that_isn_t_understood_is_refused(text):
    """No wildcard, no bare word, no half grant, no name twice."""
    with pytest.raises(CredentialsError):
        parse_certificate_grants(text.encode())


def test_a_removed_name_is_refused_at_the_next_call(grants, tmp_path):
    """The file is the revocation: what is taken out of it ends at once, on open connections too."""
    assert grants.prove([SPIFFE])
    (tmp_path / "grants.toml").write_text(f'["other.example.org"]\n{GRANT}')
    with pytest.raises(Refused):
        grants.prove([SPIFFE])


def test_a_bearer_credential_goes_before_the_certificate(grants):
    """A bad token on a good connection is refused, and a connection without a certificate has nothing to show."""
    authenticator = Authenticator(certificates=grants)
    assert authenticator.authenticate(Presented((), (SPIFFE,)))
    with pytest.raises(Refused):
        authenticator.authenticate(Presented(("Bearer x.y.z",), (SPIFFE,)))
    with pytest.raises(Missing):
        authenticator.authenticate(Presented())
