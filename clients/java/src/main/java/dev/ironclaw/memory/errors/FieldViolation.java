package dev.ironclaw.memory.errors;

import java.io.Serializable;

/**
 * One request field to blame.
 *
 * @param field the field's name in the request, such as {@code target}
 * @param description what is wrong with it, in one sentence
 */
public record FieldViolation(String field, String description) implements Serializable {}
