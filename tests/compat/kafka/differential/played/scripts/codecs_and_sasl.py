"""Codecs, and what clients log in with."""

from tests.compat.kafka.differential.played.script import script

PAYLOAD = b"one two three " * 500


@script()
def what_is_compressed_is_decompressed(kafka, stage):
    codec = stage.module("codec")
    stage.record("gzip", [codec.has_gzip(), codec.gzip_decode(codec.gzip_encode(PAYLOAD)) == PAYLOAD])
    stage.record("level", codec.gzip_decode(codec.gzip_encode(PAYLOAD, compresslevel=1)) == PAYLOAD)
    stage.record("shorter", len(codec.gzip_encode(PAYLOAD)) < len(PAYLOAD))


@script("2", "3")
def snappy_and_lz4_are_read_as_they_are_written(kafka, stage):
    codec = stage.module("codec")
    stage.record("has", [codec.has_snappy(), codec.has_lz4()])
    for blocksize in (100, 32 * 1024, 1000000):
        written = codec.snappy_encode(PAYLOAD, xerial_blocksize=blocksize)
        stage.record("header", [written[:16], codec.snappy_decode(written) == PAYLOAD])
    bare = codec.snappy_encode(PAYLOAD, xerial_compatible=False)
    stage.record("bare", [bare[:2], codec.snappy_decode(bare) == PAYLOAD])
    stage.record("lz4", codec.lz4_decode(codec.lz4_encode(PAYLOAD)) == PAYLOAD)
    stage.record("magic", codec.lz4_encode(PAYLOAD)[:4])


def sasl_of(stage, name=""):
    home = "net.sasl" if stage.generation == "3" else "sasl"
    return stage.module(home + name)


@script("2", "3")
def providers_of_tokens_have_a_token(kafka, stage):
    oauth = sasl_of(stage, ".oauth")

    class Mine(oauth.AbstractTokenProvider):
        def token(self):
            return "a-token"

    class Nothing(oauth.AbstractTokenProvider):
        pass

    stage.record("token", [Mine().token(), Mine().extensions(), Mine(region="x").token()])
    stage.raised("without a token", Nothing)
    mechanism = oauth.SaslMechanismOAuth(sasl_oauth_token_provider=Mine())
    stage.record("sent", mechanism.auth_bytes())
    stage.record("before", [mechanism.is_done(), mechanism.is_authenticated()])
    mechanism.receive(b"")
    stage.record("after", [mechanism.is_done(), mechanism.is_authenticated(), mechanism.auth_details()])
    stage.attempt("no provider", oauth.SaslMechanismOAuth)
    stage.attempt("not a provider", oauth.SaslMechanismOAuth, sasl_oauth_token_provider=5)


@script("2", "3")
def tokens_are_sent_with_what_extends_them(kafka, stage):
    oauth = sasl_of(stage, ".oauth")

    class Mine(oauth.AbstractTokenProvider):
        def token(self):
            return "a-token"

        def extensions(self):
            return {"logicalCluster": "x", "pool": "y"}

    stage.record("sent", oauth.SaslMechanismOAuth(sasl_oauth_token_provider=Mine()).auth_bytes())


@script("2", "3")
def users_log_in_with_passwords(kafka, stage):
    sasl = sasl_of(stage)
    plain = sasl_of(stage, ".plain").SaslMechanismPlain(
        sasl_plain_username="me", sasl_plain_password="secret"
    )
    stage.record("sent", plain.auth_bytes()[-10:])
    plain.receive(b"")
    stage.record("after", [plain.is_done(), plain.is_authenticated(), plain.auth_details()])
    stage.attempt("no password", sasl_of(stage, ".plain").SaslMechanismPlain, sasl_plain_username="me")
    stage.record("registered", sorted(sasl.SASL_MECHANISMS))
    stage.record("of a name", sasl.get_sasl_mechanism("PLAIN").__name__)
    stage.attempt("of no name", sasl.get_sasl_mechanism, "NONE")
    stage.attempt("twice", sasl.register_sasl_mechanism, "PLAIN", dict)


@script("2", "3")
def passwords_are_not_sent_by_scram(kafka, stage):
    scram = sasl_of(stage, ".scram").SaslMechanismScram
    settings = {"sasl_plain_username": "me", "sasl_plain_password": "secret"}
    mechanism = scram(sasl_mechanism="SCRAM-SHA-256", **settings)
    stage.record("first", mechanism.auth_bytes()[:10])
    stage.record("before", [mechanism.is_done(), mechanism.is_authenticated()])
