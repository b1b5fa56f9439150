// SPDX-License-Identifier: Apache-2.0

/** Why the program cannot go on; the exit codes are those of the C program. */
@SuppressWarnings("serial")
final class Failure extends RuntimeException {
    static final int USAGE = 2;
    static final int CORRUPT = 3;
    static final int BUSY = 4;
    static final int GONE = 5;
    static final int FULL = 6;
    static final int ABSENT = 7;
    static final int ENDLESS = 1_000_000; // attempts after which a loop that depends on shared words is given up

    final int code;

    Failure(int code, String why) {
        super(why);
        this.code = code;
    }
}
