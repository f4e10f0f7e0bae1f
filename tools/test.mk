# make check and make bench: included by tools/build.mk.
#
#   make check [TESTS='count/* unit/*'] [MODE=...]
#   make check-fast
#   make bench [BENCH='fib xz']
#
# Guest programs (everything under tests/ but tests/unit) are built without sanitizers in every mode: they are what pcl
# runs.

GUESTFLAGS := -std=gnu11 -O1 -g -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -I.
T := $(O)/tests

EMBED_TESTS := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/embed/*.c))
UNIT_TESTS := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*/*.c))
COUNT_TESTS := $(addprefix $(T)/count/,$(shell sed -n 's/^\([a-z][^ ]*\) .*/\1/p' tests/count/programs))
GUEST_SRC := $(wildcard $(foreach d,insn abi abi/errno transparency clients kill restricted fuzz,\
	tests/$(d)/*.c tests/$(d)/*.S))
GUEST_TESTS := $(addprefix $(O)/,$(basename $(GUEST_SRC)))
TEST_PROGRAMS := $(addprefix $(O)/bench/,threads samples times pair) $(addprefix $(T)/count/,oracle counted sampled) \
	$(UNIT_TESTS) $(COUNT_TESTS) $(GUEST_TESTS)

BENCH_PROGRAMS := $(patsubst %.c,$(O)/%,$(wildcard bench/*.c))

.PHONY: test-programs test-deps hosted-tests check-fast

test-deps:
	@tools/install-deps

# Builds whose tests run with those of MODE=rel (OTHERS in tests/run), or those that are named: TESTS='dbg:count/*'.
OTHERS := $(if $(filter rel,$(MODE)),$(if $(TESTS),$(foreach m,dbg asan ubsan,$(if $(findstring $(m):,$(TESTS)),$(m))),\
	dbg asan))

# All processors build, unless make was asked for another number of jobs, which MAKEFLAGS says only in recipes.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# A program that does not compile is a test that fails, not the end of all tests.
check: test-deps
	$(MAKE) $(JOBS) all
	-$(MAKE) $(JOBS) -k test-programs
	-$(foreach m,$(OTHERS),$(MAKE) $(JOBS) -k MODE=$(m) hosted-tests;)
	-$(MAKE) $(JOBS) -k ARCH=none MODE=dbg objects
	@tests/run $(O) $(TESTS:%='%')

check-fast: test-deps
	@$(MAKE) --no-print-directory -s all
	-@$(MAKE) --no-print-directory -s -k test-programs
	@tests/run $(O) fast

test-programs: $(TEST_PROGRAMS)

# What tests of other builds need, without ./pcl: guest programs are those of MODE=rel, but for one that unit tests of a
# build that is alone want.
hosted-tests: $(O)/pcl $(O)/pclrt $(UNIT_TESTS) $(T)/restricted/restrict

bench: test-deps
	$(MAKE) all $(BENCH_PROGRAMS) $(T)/count/counted
	@bench/run $(O) $(BENCH:%='%')

$(filter-out $(EMBED_TESTS),$(UNIT_TESTS)): $(O)/tests/unit/%: tests/unit/%.c $(HOST_LIB)
	@mkdir -p $(@D)
	$(CC) $(HOSTFLAGS) -MMD -MP -MF $@.d -o $@ $< $(HOST_LIB) -lZydis -lpthread

# event/ in another system: nothing else of pcl is at hand.
EMBED_OBJ := $(filter $(O)/host/event/% $(O)/host/rt/%,$(HOST_OBJ))
$(EMBED_TESTS): $(O)/tests/unit/%: tests/unit/%.c $(EMBED_OBJ)
	@mkdir -p $(@D)
	$(CC) $(HOSTFLAGS) -MMD -MP -MF $@.d -o $@ $< $(EMBED_OBJ)

$(T)/count/oracle: tests/count/oracle.c $(wildcard tests/count/*.h)
	@mkdir -p $(@D)
	$(CC) $(GUESTFLAGS) -O2 -o $@ $< -lZydis

$(T)/count/counted $(T)/count/sampled: $(T)/count/%: tests/count/%.c tests/count/events.h
	@mkdir -p $(@D)
	$(CC) $(GUESTFLAGS) -static -o $@ $<

# Flags come from the table.
$(T)/count/%: tests/count/%.c tests/count/programs $(wildcard tests/count/*.h)
	@mkdir -p $(@D)
	$(CC) $(GUESTFLAGS) -o $@ $< $$(awk '$$1 == "$*" { $$1 = $$2 = ""; print }' tests/count/programs)

$(T)/count/%: tests/count/%.cc tests/count/programs
	@mkdir -p $(@D)
	$(CXX) -O1 -g -Wall -Wextra -o $@ $< $$(awk '$$1 == "$*" { $$1 = $$2 = ""; print }' tests/count/programs)

# A line " * cflags: ..." in the source adds flags.
$(O)/tests/%: tests/%.c $(wildcard tests/*/*.h)
	@mkdir -p $(@D)
	$(CC) $(GUESTFLAGS) -o $@ $< -pthread -lm $$(sed -n 's/^ \* cflags: //p' $<)

$(O)/tests/%: tests/%.S $(wildcard tests/*/*.h)
	@mkdir -p $(@D)
	$(CC) $(GUESTFLAGS) -nostdlib -static -o $@ $< $$(sed -n 's/^ \* cflags: //p' $<)

$(O)/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -o $@ $< -pthread -lm

-include $(UNIT_TESTS:=.d)
