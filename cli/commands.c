/* See commands.h. */
#include "abi/types.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/count.h"
#include "cli/doctor.h"
#include "cli/flame.h"
#include "cli/list.h"

const struct command commands[] = {
#define COMMAND(name, table, is_client, arguments, help) {#name, arguments, help, table, name##_main, is_client},
#include "cli/commands.def"
#undef COMMAND
};

const size_t commands_nr = ARRAY_SIZE(commands);
