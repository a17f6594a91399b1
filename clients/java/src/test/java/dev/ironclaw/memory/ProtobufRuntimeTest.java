package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Message;
import org.junit.jupiter.api.Test;

/** The build runs tests on two versions of protobuf's runtime; this one says that it is so. */
class ProtobufRuntimeTest {
  @Test
  void theRuntimeIsTheOneThatTheBuildNames() {
    String sinceFour = Message.class.getPackageName().replace('.', '/') + "/RuntimeVersion.class";
    boolean four = Message.class.getClassLoader().getResource(sinceFour) != null;
    assertEquals(System.getProperty("protobuf.major"), four ? "4" : "3");
  }
}
