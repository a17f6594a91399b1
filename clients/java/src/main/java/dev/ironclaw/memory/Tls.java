package dev.ironclaw.memory;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What an encrypted connection needs, as PEM. Files are read once: a rotated certificate needs a
 * new client.
 */
public final class Tls {
  private final byte[] authorities;
  private final byte[] certificateChain;
  private final byte[] privateKey;
  private final String serverName;

  private Tls(byte[] authorities, byte[] chain, byte[] privateKey, String serverName) {
    this.authorities = authorities;
    this.certificateChain = chain;
    this.privateKey = privateKey;
    this.serverName = serverName;
  }

  /**
   * Returns a TLS that trusts the authorities that the Java runtime trusts.
   *
   * @return TLS without a client certificate
   */
  public static Tls trustingPlatform() {
    return new Tls(null, null, null, null);
  }

  /**
   * Returns a TLS that trusts these authorities and no others.
   *
   * @param authorities certificates, as PEM
   * @return TLS without a client certificate
   */
  public static Tls trusting(byte[] authorities) {
    return new Tls(authorities.clone(), null, null, null);
  }

  /**
   * Returns a TLS that trusts the authorities of a file and no others.
   *
   * @param authorities a PEM file of certificates
   * @return TLS without a client certificate
   * @throws IOException the file cannot be read
   */
  public static Tls trusting(Path authorities) throws IOException {
    return trusting(Files.readAllBytes(authorities));
  }

  /**
   * Returns the same with a certificate of this client's own, for mutual TLS.
   *
   * @param certificateChain the certificate and its issuers, as PEM
   * @param privateKey its key, as PEM of PKCS #8
   * @return mutual TLS
   */
  public Tls withClientCertificate(byte[] certificateChain, byte[] privateKey) {
    return new Tls(authorities, certificateChain.clone(), privateKey.clone(), serverName);
  }

  /**
   * Returns the same with a certificate of this client's own, for mutual TLS.
   *
   * @param certificateChain a PEM file of the certificate and its issuers
   * @param privateKey a PEM file of its key, in PKCS #8
   * @return mutual TLS
   * @throws IOException a file cannot be read
   */
  public Tls withClientCertificate(Path certificateChain, Path privateKey) throws IOException {
    return withClientCertificate(
        Files.readAllBytes(certificateChain), Files.readAllBytes(privateKey));
  }

  /**
   * Returns the same for a server whose certificate has another name than the target's host.
   *
   * @param serverName the name to expect
   * @return TLS with that name
   */
  public Tls withServerName(String serverName) {
    return new Tls(authorities, certificateChain, privateKey, serverName);
  }

  Optional<String> serverName() {
    return Optional.ofNullable(serverName);
  }

  /**
   * Returns the credentials as gRPC takes them.
   *
   * @throws IllegalArgumentException a PEM is none
   */
  ChannelCredentials channelCredentials() {
    var credentials = TlsChannelCredentials.newBuilder();
    try {
      if (authorities != null) {
        credentials.trustManager(new ByteArrayInputStream(authorities));
      }
      if (privateKey != null) {
        var chain = new ByteArrayInputStream(certificateChain);
        credentials.keyManager(chain, new ByteArrayInputStream(privateKey));
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("a certificate or key cannot be read as PEM", e);
    }
    return credentials.build();
  }
}
