# Everything that puts pcl elsewhere, and make help, deps, demo: included by tools/build.mk.

DEST := $(DESTDIR)$(PREFIX)
VERSION := $(shell cat VERSION)
DOCS := README.md CHANGELOG.md LICENSE $(wildcard doc/*.md)
HEADERS := $(wildcard include/pcl/*.h)
EXAMPLES := $(wildcard examples/*)
SCRIPTS := $(wildcard examples/*.sh) examples/check-cargo examples/check-gbench examples/compare
NAME := pcl-$(VERSION)
# Of what is made for others: the last commit's, so that the same source gives the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
TAR := tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(SOURCE_DATE_EPOCH) --format=ustar
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions

.PHONY: help uninstall tarball deb generated

help:
	@sed -n '/^#   make/s/^# *//p' Makefile

deps:
	@tools/install-deps

# What the command says of itself, as files.
generated: all
	@mkdir -p $(O)/share
	@$(O)/pcl --manual > $(O)/share/pcl.1
	@$(O)/pcl --manual=events > $(O)/share/pcl-events.7
	@for shell in bash zsh fish; do $(O)/pcl --completion=$$shell > $(O)/share/pcl.$$shell || exit 1; done
	@tools/compat-page > $(O)/share/syscalls.md
	@printf 'prefix=%s\nName: pcl\nDescription: pcl/session.h and pcl/perf_2009.h, for programs that are run by pcl\nVersion: %s\nCflags: -I$${prefix}/include\n' \
		$(PREFIX) $(VERSION) > $(O)/share/pcl.pc

# A tree that can be moved: pcl finds its runtime at ../lib/pcl from its own directory.
install: generated
	install -d $(DEST)/bin $(DEST)/lib/pcl $(DEST)/share/doc/pcl/examples $(DEST)/share/man/man1 $(DEST)/share/man/man7 \
		$(DEST)/share/bash-completion/completions $(DEST)/share/fish/vendor_completions.d $(DESTDIR)$(ZSH_DIR)
	install -m 755 $(O)/pcl $(DEST)/bin/pcl
	install -m 755 $(O)/pclrt $(DEST)/lib/pcl/pclrt
	install -m 644 $(DOCS) $(O)/share/syscalls.md $(DEST)/share/doc/pcl
	install -m 644 $(filter-out $(SCRIPTS),$(EXAMPLES)) $(DEST)/share/doc/pcl/examples
	install -m 755 $(SCRIPTS) $(DEST)/share/doc/pcl/examples
	install -d $(DEST)/include/pcl $(DEST)/share/pkgconfig
	install -m 644 $(HEADERS) $(DEST)/include/pcl
	install -m 644 $(O)/share/pcl.pc $(DEST)/share/pkgconfig
	install -m 644 $(O)/share/pcl.1 $(DEST)/share/man/man1/pcl.1
	install -m 644 $(O)/share/pcl-events.7 $(DEST)/share/man/man7/pcl-events.7
	install -m 644 $(O)/share/pcl.bash $(DEST)/share/bash-completion/completions/pcl
	install -m 644 $(O)/share/pcl.fish $(DEST)/share/fish/vendor_completions.d/pcl.fish
	install -m 644 $(O)/share/pcl.zsh $(DESTDIR)$(ZSH_DIR)/_pcl

# Exactly what make install puts there; directories only where nothing else is left in them.
uninstall:
	rm -f $(DEST)/bin/pcl $(addprefix $(DEST)/,$(HEADERS)) $(DEST)/share/pkgconfig/pcl.pc $(DEST)/lib/pcl/pclrt \
		$(DEST)/share/man/man1/pcl.1 $(DEST)/share/man/man7/pcl-events.7 \
		$(DEST)/share/bash-completion/completions/pcl $(DEST)/share/fish/vendor_completions.d/pcl.fish \
		$(DESTDIR)$(ZSH_DIR)/_pcl \
		$(addprefix $(DEST)/share/doc/pcl/,$(notdir $(DOCS)) syscalls.md $(EXAMPLES))
	-rmdir $(DEST)/include/pcl $(DEST)/lib/pcl $(DEST)/share/doc/pcl/examples $(DEST)/share/doc/pcl 2>/dev/null

# Two programs that run from wherever they are unpacked, as long as they are together, and the licences.
tarball: all
	rm -rf $(O)/tarball && mkdir -p $(O)/tarball/$(NAME)
	strip -s -o $(O)/tarball/$(NAME)/pcl $(O)/pcl
	strip -s -o $(O)/tarball/$(NAME)/pclrt $(O)/pclrt
	cp LICENSE tools/debian/copyright $(O)/tarball/$(NAME)
	chmod 755 $(O)/tarball/$(NAME) $(O)/tarball/$(NAME)/pcl*
	chmod 644 $(O)/tarball/$(NAME)/LICENSE $(O)/tarball/$(NAME)/copyright
	$(TAR) -C $(O)/tarball -c $(NAME) | gzip -9n > $(O)/$(NAME)-x86_64.tar.gz
	@echo $(O)/$(NAME)-x86_64.tar.gz

# By Debian's own tools, from a copy of the source: Debian's name for the directory, and nothing of build/. Needs
# debhelper.
SOURCE_FILES = $(wildcard .clang-format) LICENSE Makefile VERSION $(wildcard *.md) $(ROOMS_RT) \
	abi cli tools tests demo bench doc examples include
deb:
	@command -v dh >/dev/null || { echo "make deb needs debhelper: apt-get install debhelper" >&2; exit 1; }
	rm -rf $(O)/deb && mkdir -p $(O)/deb/$(NAME)
	cp -a $(sort $(SOURCE_FILES)) $(O)/deb/$(NAME)
	cp -a tools/debian $(O)/deb/$(NAME)/debian
	sed -e 's/@VERSION@/$(VERSION)/' -e "s/@DATE@/$$(date -R -u -d @$(SOURCE_DATE_EPOCH))/" tools/debian/changelog \
		> $(O)/deb/$(NAME)/debian/changelog
	cd $(O)/deb/$(NAME) && env -u MAKEFLAGS -u MAKELEVEL SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) \
		dpkg-buildpackage -b -us -uc > ../build.log 2>&1 || \
		{ tail -n 20 ../build.log; exit 1; }
	@ls $(O)/deb/pcl_$(VERSION)_*.deb

$(O)/demo/%: demo/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -o $@ $<

# In steps: compiling has to wait for the packages.
demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory -s all $(O)/demo/printf_count $(O)/demo/lookup
	@tools/demo.sh $(O)
