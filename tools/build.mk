# Rules. One wildcard per room: a new .c or .S file is picked up without an edit here.

ROOMS_RT := rt isa cpu dbt model event pmu show perf os os/session os/pin os/mm os/sig os/files os/task
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Werror=implicit-function-declaration -Wvla -Wno-unused-parameter -Wno-sign-compare
DEFS := -I. -I$(O)/gen $(if $(filter none,$(ARCH)),-Itests/unit/skeleton) -DARCH=$(ARCH) -D_GNU_SOURCE \
	-DPCL_MODE=\"$(MODE)\" -DPCL_VERSION=\"$(shell cat VERSION)\"

# The same source gives the same programs, whatever directory it is in.
OPT_rel := -O2 -g -ffile-prefix-map=$(CURDIR)=.
OPT_dbg := -O1 -g -DPCL_DEBUG
OPT_asan := -O1 -g -DPCL_DEBUG
OPT_ubsan := -O1 -g -DPCL_DEBUG
OPT_tsan := -O1 -g -DPCL_DEBUG
OPT_cov := -O0 -g -DPCL_DEBUG
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_ubsan := -fsanitize=undefined -fno-sanitize-recover=undefined
SAN_tsan := -fsanitize=thread
SAN_cov := --coverage
OPT := $(OPT_$(MODE))
SAN := $(SAN_$(MODE))
# The runtime is optimized as one program: a sample passes through five rooms. Not rt/string.c: what the compiler itself
# calls must stay.
LTO_rel := -flto=auto
LTO := $(LTO_$(MODE))

# The runtime inside the guest: freestanding, no libc, no TLS, no vector registers. `rep stos` takes 30 cycles to begin.
RTFLAGS := -std=gnu11 $(OPT) $(WARN) $(DEFS) -DPCL_RUNTIME -ffreestanding -fno-builtin-printf -fPIE \
	-fvisibility=hidden -mgeneral-regs-only -fno-stack-protector -fno-asynchronous-unwind-tables \
	-fno-strict-aliasing -ffunction-sections -fdata-sections -fno-tree-loop-distribute-patterns $(RTFLAGS_$(ARCH))
RTFLAGS_x86_64 := -mno-red-zone -fcf-protection=none -mmemset-strategy=unrolled_loop:256:noalign,rep_8byte:-1:noalign
# Everything hosted: the command, the unit tests, the generators.
HOSTFLAGS := -std=gnu11 $(OPT) $(SAN) $(if $(SAN),-DPCL_NO_NOTES) $(WARN) $(DEFS) -fno-strict-aliasing

# Stores to memory that processes share are noted (rt/section.h): in front of each the compiler calls __asan_store*(),
# as for the kernel's address sanitizer, of which nothing else is used. These options would be lost in the link-time
# optimization of all: what has notes is optimized and linked by itself first, $(NOTED_OBJ).
NOTES := -fsanitize=kernel-address --param asan-instrument-reads=0 --param asan-stack=0 --param asan-globals=0 \
	--param asan-instrumentation-with-call-threshold=0
NOTED_SRC := $(wildcard event/*.c pmu/*.c) os/session/session.c

GEN := $(if $(filter x86_64,$(ARCH)),$(O)/gen/isa_tables.h) $(O)/gen/build_id.h
RT_SRC := $(foreach r,$(ROOMS_RT),$(wildcard $(r)/*.c $(r)/*.S $(r)/$(ARCH)/*.c $(r)/$(ARCH)/*.S))
# isa/ is one architecture's as a whole.
ifneq ($(ARCH),x86_64)
RT_SRC := $(filter-out isa/%,$(RT_SRC))
endif
NOTED_OBJ := $(O)/rt/noted.o
RT_OBJ := $(patsubst %,$(O)/rt/%.o,$(filter-out $(NOTED_SRC),$(RT_SRC))) $(NOTED_OBJ)
CLI_SRC := $(wildcard cli/*.c)
# ThreadSanitizer knows no memory at the arena's address: with it only the unit tests are instrumented, not the command.
CMD := $(if $(filter tsan,$(MODE)),plain,host)
CMD_SAN := $(if $(filter tsan,$(MODE)),,$(SAN))
CLI_OBJ := $(patsubst %,$(O)/$(CMD)/%.o,$(CLI_SRC))
# Rooms that also run hosted, for the command and the unit tests. rt/string.c is the C library's there.
HOST_SRC := $(filter-out rt/string.c,$(foreach r,rt isa cpu dbt model event pmu show,\
	$(wildcard $(r)/*.c $(r)/hosted/*.c $(r)/$(ARCH)/*.[cS])))
HOST_OBJ := $(patsubst %,$(O)/host/%.o,$(HOST_SRC))
# An archive: a program gets only what it uses, so a unit test fakes only what its room needs.
HOST_LIB := $(O)/libhost.a
CMD_OBJ := $(patsubst %,$(O)/$(CMD)/%.o,$(HOST_SRC))
CMD_LIB := $(O)/lib$(CMD).a

.PHONY: all pcl objects clean check demo bench install deps
all: pcl

pcl: $(O)/pcl $(O)/pclrt
	@ln -sfn $(O)/pcl pcl

GEN_SRC := tools/gen_isa.c $(wildcard tools/gen_isa/*.c)
$(O)/gen/isa_tables.h: $(GEN_SRC) $(wildcard tools/gen_isa/*.h) isa/insn.h isa/tables.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -I. -o $(O)/gen/gen_isa $(GEN_SRC) -lZydis
	$(O)/gen/gen_isa > $@.tmp && mv $@.tmp $@

# What pcl and pclrt know each other by: a number made from all that they are built from.
ID_SRC := $(sort $(foreach r,abi cli $(ROOMS_RT),\
	$(wildcard $(r)/*.[chS] $(r)/*.def $(r)/$(ARCH)/*.[chS] $(r)/$(ARCH)/*.def)))
$(O)/gen/build_id.h: $(ID_SRC) tools/build.mk VERSION
	@mkdir -p $(@D)
	@(echo $(MODE) $(ARCH) && cat $^) | sha256sum | sed 's/^\(.\{16\}\).*/#define BUILD_ID 0x\1ul/' > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

$(O)/rt/%.o: % | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(RTFLAGS) $(if $(filter rt/string.c %.S,$<),,$(LTO)) \
		$(if $(filter $(NOTED_SRC),$<),$(NOTES) -include rt/noted.h) -MMD -MP -c -o $@ $<

$(NOTED_OBJ): $(patsubst %,$(O)/rt/%.o,$(NOTED_SRC))
	$(CC) $(RTFLAGS) $(NOTES) -nostdlib -r $(if $(LTO),$(LTO) -flinker-output=nolto-rel) -o $@ $^

# With notes where no other sanitizer is: tests/unit/event/death.c puts back what a member leaves.
$(O)/host/%.o: % | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(HOSTFLAGS) $(if $(SAN),,$(if $(filter $(NOTED_SRC),$<),$(NOTES) -include rt/noted.h)) -MMD -MP -c -o $@ $<

$(O)/plain/%.o: % | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SAN),$(HOSTFLAGS)) -MMD -MP -c -o $@ $<

# Linked at LAYOUT_BASE (rt/layout.h). Sorted by alignment, which keeps small variables apart from large tables, so that
# a process touches few pages of them.
$(O)/pclrt: $(RT_OBJ)
	$(CC) $(RTFLAGS) $(LTO) -nostdlib -static -no-pie -Wl,-Ttext-segment=0x5b0000000000 -Wl,--build-id=sha1 \
		-Wl,-z,noexecstack -Wl,--gc-sections -Wl,--sort-section=alignment -Wl,--no-relax -Wl,-e,rt_start \
		-o $@ $(RT_OBJ)

# The runtime of an architecture that is not whole yet.
objects: $(O)/objects.o
$(O)/objects.o: $(RT_OBJ)
	$(CC) -nostdlib -r -o $@ $(RT_OBJ)

$(HOST_LIB): $(HOST_OBJ)
	rm -f $@ && ar rcs $@ $(HOST_OBJ)

$(O)/libplain.a: $(CMD_OBJ)
	rm -f $@ && ar rcs $@ $(CMD_OBJ)

# The script is in the command as it is.
$(O)/host/cli/flame_svg.o $(O)/plain/cli/flame_svg.o: cli/flame.js

# Static where the sanitizers allow it: starts faster.
$(O)/pcl: $(CLI_OBJ) $(CMD_LIB)
	$(CC) $(filter-out $(SAN),$(HOSTFLAGS)) $(CMD_SAN) $(if $(CMD_SAN),,-static) -o $@ $(CLI_OBJ) $(CMD_LIB) \
		-ljson-c -lelf -liberty -lz -lm

clean:
	rm -rf build pcl

-include $(patsubst %,$(O)/rt/%.d,$(RT_SRC)) $(CLI_OBJ:.o=.d) $(HOST_OBJ:.o=.d) $(CMD_OBJ:.o=.d)
-include tools/test.mk
-include tools/setup.mk
