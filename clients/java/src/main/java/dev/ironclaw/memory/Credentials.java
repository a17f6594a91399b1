package dev.ironclaw.memory;

import io.grpc.Metadata;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** How a client proves who it is with each call, and where that may be sent. */
final class Credentials {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final Pattern LOOPBACK_IPV4 =
      Pattern.compile("127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}");

  /** A colon keeps these from being looked up as names. */
  private static final Pattern IPV6 = Pattern.compile("[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*");

  private static final List<String> SCHEMES = List.of("dns", "ipv4", "ipv6");

  private Credentials() {}

  /**
   * Adds the token that shall be sent now; a null supplier adds none.
   *
   * @throws IllegalArgumentException it is no printable ASCII, so it is no key and no token
   */
  static void addTo(Metadata metadata, Supplier<String> token) {
    if (token == null) {
      return;
    }
    String value = token.get();
    if (value == null || value.isEmpty() || !value.chars().allMatch(c -> c >= '!' && c <= '~')) {
      throw new IllegalArgumentException("a token must be printable ASCII without spaces");
    }
    metadata.put(AUTHORIZATION, "Bearer " + value);
  }

  /** Returns whether what is sent to the target in the clear stays on this machine. */
  static boolean isLocal(String target) {
    if (target.startsWith("unix:")) {
      return true;
    }
    String host = hostOf(target);
    return host.equals("localhost") || isLoopback(host);
  }

  private static String hostOf(String target) {
    String address = target;
    int colon = target.indexOf(':');
    if (colon > 0 && SCHEMES.contains(target.substring(0, colon))) {
      address = target.substring(Math.max(colon, target.lastIndexOf('/')) + 1);
    }
    int port = address.lastIndexOf(':');
    String host = port < 0 ? address : address.substring(0, port);
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    return bracketed ? host.substring(1, host.length() - 1) : host;
  }

  private static boolean isLoopback(String host) {
    if (LOOPBACK_IPV4.matcher(host).matches()) {
      return true;
    }
    try {
      return IPV6.matcher(host).matches() && InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
