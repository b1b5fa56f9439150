// SPDX-License-Identifier: Apache-2.0
import java.time.Instant;

/** Wall clock in ns since the epoch. */
final class Clock {
    private Clock() {}

    static long wallNs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
