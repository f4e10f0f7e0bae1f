/* See tracefs_texts.h. Those of Linux on x86-64 with pages of 4096 bytes. */
#include "pmu/tracefs_texts.h"

const char tracefs_header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const char tracefs_header_event[] =
	"# compressed entry header\n"
	"\ttype_len    :    5 bits\n"
	"\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n"
	"\n"
	"\tpadding     : type == 29\n"
	"\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n"
	"\tdata max type_len  == 28\n";

/* What of Linux's own is true here. perf looks here for what a probe can have. */
const char tracefs_readme[] =
	"tracing mini-HOWTO:\n"
	"\n"
	"  uprobe_events\t\t- Create/append/remove/show the userspace dynamic events\n"
	"\t\t\t  Write into this file to define/undefine new trace events.\n"
	"\t  accepts: event-definitions (one definition per line)\n"
	"\t   Format: p[:[<group>/][<event>]] <place> [<args>]\n"
	"\t           r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
	"\t           -:[<group>/][<event>]\n"
	"   place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]\n"
	"\t     args: <name>=fetcharg[:type]\n"
	"\t fetcharg: %<register>, @<address>, @+<offset>, \\imm-value,\n"
	"\t           $stack<index>, $stack, $retval, $comm,\n"
	"\t           +|-[u]<offset>(<fetcharg>)\n"
	"\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string,\n"
	"\t           b<bit-width>@<bit-offset>/<container-size>, ustring,\n"
	"\t           <type>\\[<array-size>\\]\n"
	"  events/\t\t- Directory containing all trace event subsystems\n";
