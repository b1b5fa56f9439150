// SPDX-License-Identifier: Apache-2.0

/** One message, copied out of the ring. */
record Message(long seq, long timeNs, byte[] sender, byte[] type, byte[] body) {}
