package dev.ironclaw.memory.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** An authority that nobody trusts but these tests, and the certificates that it issues. */
public final class Certificates {
  private final Path folder;

  /** Makes the authority in an empty folder. */
  public Certificates(Path folder) throws IOException {
    this.folder = Files.createDirectories(folder);
    request("ca", "-addext", "basicConstraints=critical,CA:TRUE");
  }

  public Path authority() {
    return certificate("ca");
  }

  public Path certificate(String name) {
    return folder.resolve(name + ".pem");
  }

  public Path key(String name) {
    return folder.resolve(name + "-key.pem");
  }

  /**
   * Issues a certificate.
   *
   * @param name of its files
   * @param alternativeName whom it names, such as {@code DNS:memory.example}
   */
  public Certificates issue(String name, String alternativeName) throws IOException {
    String issuer = certificate("ca").toString();
    String issuerKey = key("ca").toString();
    String extension = "subjectAltName=" + alternativeName;
    request(name, "-addext", extension, "-CA", issuer, "-CAkey", issuerKey);
    return this;
  }

  private void request(String name, String... options) throws IOException {
    List<String> command = new ArrayList<>(List.of("openssl", "req", "-x509", "-nodes"));
    command.addAll(List.of("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"));
    command.addAll(List.of("-days", "2", "-subj", "/CN=" + name));
    command.addAll(List.of("-keyout", key(name).toString()));
    command.addAll(List.of("-out", certificate(name).toString()));
    command.addAll(List.of(options));
    Commands.output(new ProcessBuilder(command));
  }
}
