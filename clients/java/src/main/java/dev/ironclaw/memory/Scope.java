package dev.ironclaw.memory;

import java.util.Objects;

/**
 * Whose memory: set by the host, never by a model.
 *
 * <p>Documents of scopes that differ in tenant, user, agent or project never meet. An absent agent
 * or project is a scope of its own, not a wildcard. The thread is the active conversation and keeps
 * nothing apart.
 *
 * <p>Each value is 1 to 256 bytes without {@code /}, {@code \}, {@code :} and control characters;
 * the service refuses others as {@link dev.ironclaw.memory.errors.ScopeException}.
 *
 * @param tenant the tenant's id; null where the credential pins it
 * @param user the human user's id; null where the credential pins it
 * @param agent the agent's id; null for the scope without one
 * @param project the project's id; null for the scope without one
 * @param thread the conversation's id; null where there is none
 */
public record Scope(String tenant, String user, String agent, String project, String thread) {

  /** What the client's credential pins, and nothing else: no value is sent. */
  public static final Scope OF_CREDENTIAL = new Scope(null, null, null, null, null);

  /**
   * Returns the scope of a user without agent, project and thread.
   *
   * @param tenant the tenant's id
   * @param user the human user's id
   * @return the scope
   */
  public static Scope of(String tenant, String user) {
    Objects.requireNonNull(tenant, "tenant");
    Objects.requireNonNull(user, "user");
    return new Scope(tenant, user, null, null, null);
  }

  /**
   * Returns the same scope of another user.
   *
   * @param user the human user's id; null where the credential pins it
   * @return the scope
   */
  public Scope withUser(String user) {
    return new Scope(tenant, user, agent, project, thread);
  }

  /**
   * Returns the same scope of another agent.
   *
   * @param agent the agent's id; null for the scope without one
   * @return the scope
   */
  public Scope withAgent(String agent) {
    return new Scope(tenant, user, agent, project, thread);
  }

  /**
   * Returns the same scope of another project.
   *
   * @param project the project's id; null for the scope without one
   * @return the scope
   */
  public Scope withProject(String project) {
    return new Scope(tenant, user, agent, project, thread);
  }

  /**
   * Returns the same scope in another conversation.
   *
   * @param thread the conversation's id; null for none
   * @return the scope
   */
  public Scope withThread(String thread) {
    return new Scope(tenant, user, agent, project, thread);
  }
}
