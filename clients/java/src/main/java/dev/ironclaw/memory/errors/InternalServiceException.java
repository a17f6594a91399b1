package dev.ironclaw.memory.errors;

/** A fault of the service, which tells no more than an incident id. */
public class InternalServiceException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public InternalServiceException(ErrorDetails details) {
    super(details);
  }

  /**
   * Returns the id under which the service's log tells what happened.
   *
   * @return the id, for the service's operator; empty when the server did not say
   */
  public String incidentId() {
    return metadata().getOrDefault("incident_id", "");
  }
}
