# make deps, make install, make demo: included by tools/build.mk.

DOCS := README.md LICENSE $(wildcard doc/*.md)
DEST := $(DESTDIR)$(PREFIX)

deps:
	@tools/install-deps

# A tree that can be moved: pcl finds its runtime at ../lib/pcl from its own directory.
install: all
	install -d $(DEST)/bin $(DEST)/lib/pcl $(DEST)/share/doc/pcl $(DEST)/share/man/man1
	install -m 755 $(O)/pcl $(DEST)/bin/pcl
	install -m 755 $(O)/pclrt $(DEST)/lib/pcl/pclrt
	install -m 644 $(DOCS) $(DEST)/share/doc/pcl
	tools/compat-page > $(O)/syscalls.md
	install -m 644 $(O)/syscalls.md $(DEST)/share/doc/pcl/syscalls.md
	$(O)/pcl --manual > $(O)/pcl.1
	install -m 644 $(O)/pcl.1 $(DEST)/share/man/man1/pcl.1

$(O)/demo/%: demo/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -o $@ $<

# In steps: compiling has to wait for the packages.
demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory -s all $(O)/demo/printf_count
	@tools/demo.sh $(O)
