package dev.ironclaw.memory.server;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Hands tests the address of the one real server that they share; each test has its own tenant. */
public final class RealServer implements ParameterResolver {
  private static final ExtensionContext.Namespace HERE =
      ExtensionContext.Namespace.create(RealServer.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == ServerProcess.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    // JUnit closes what its root store holds once all tests are done.
    return context
        .getRoot()
        .getStore(HERE)
        .getOrComputeIfAbsent("server", key -> ServerProcess.start(), ServerProcess.class);
  }
}
