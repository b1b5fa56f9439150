/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness.h"

static const char *const types[] = {"", "a", "ab", "b", "imu.v1"};
static const char *const senders[] = {"", "ann", "bob"};

static slipring_text text(const char *string) { return (slipring_text){string, strlen(string)}; }

static void publish_all(slipring_publisher *const *pubs) {
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 5; t++) send_typed(pubs[s], types[t], types[t]);
}

static void expect_only(slipring_subscriber *sub, bool (*passes)(size_t sender, size_t type)) {
    static struct message m;
    uint64_t expected = 0;
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 5; t++) {
            if (!passes(s, t)) continue;
            CHECK(receive(sub, &m));
            CHECK(strcmp(m.sender, senders[s]) == 0 && strcmp(m.type, types[t]) == 0 && strcmp(m.body, types[t]) == 0);
            expected++;
        }
    expect_empty(sub);
    CHECK_EQ(counts(sub).received, expected);
    CHECK_EQ(counts(sub).filtered, 15 - expected);
    CHECK_EQ(counts(sub).lost, 0);
    slipring_subscriber_close(sub);
}

static bool a_and_empty(size_t sender, size_t type) { return (void)sender, type == 0 || type == 1; }
static bool none(size_t sender, size_t type) { return (void)sender, (void)type, false; }
static bool not_b(size_t sender, size_t type) { return (void)sender, type != 3; }
static bool not_ann(size_t sender, size_t type) { return (void)type, sender != 1; }
static bool a_not_bob(size_t sender, size_t type) { return type == 1 && sender != 2; }
static bool all(size_t sender, size_t type) { return (void)sender, (void)type, true; }

static slipring_subscriber *with(slipring_filter filter) {
    return subscriber("t", SUBSCRIBING(.filter = &filter));
}

static void run(void) {
    slipring_publisher *pubs[3];
    for (size_t s = 0; s < 3; s++) CHECK_OK(try_publisher("t", senders[s], NULL, &pubs[s]));
    slipring_text two[] = {text("a"), text("")}, one[] = {text("a")}, b[] = {text("b")};
    slipring_text ann[] = {text("ann")}, bob[] = {text("bob"), text("nobody")};
    uint64_t since;
    uint32_t entry = slipring_publisher_entry(pubs[1], &since);
    slipring_subscriber *subs[] = {
        with((slipring_filter){.only_types = true, .types = two, .type_count = 2}),
        with((slipring_filter){.only_types = true}),
        with((slipring_filter){.ignore_types = b, .ignore_type_count = 1}),
        with((slipring_filter){.ignore_senders = ann, .ignore_sender_count = 1}),
        with((slipring_filter){
            .only_types = true, .types = one, .type_count = 1, .ignore_senders = bob, .ignore_sender_count = 2}),
        with((slipring_filter){.ignore_own = true, .own_entry = entry, .own_since = since}),
        with((slipring_filter){.types = one, .type_count = 1}), /* only_types not set */
    };
    publish_all(pubs);
    expect_only(subs[0], a_and_empty);
    expect_only(subs[1], none);
    expect_only(subs[2], not_b);
    expect_only(subs[3], not_ann);
    expect_only(subs[4], a_not_bob);
    expect_only(subs[5], not_ann);
    expect_only(subs[6], all);
    /* A later owner of the entry is not hidden: only messages from own_since on are one's own. */
    slipring_subscriber *later = with((slipring_filter){.ignore_own = true, .own_entry = entry, .own_since = 1000});
    publish_all(pubs);
    expect_only(later, all);
    for (size_t s = 0; s < 3; s++) slipring_publisher_close(pubs[s]);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
