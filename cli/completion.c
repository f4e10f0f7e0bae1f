/*
 * See completion.h. Each script is a frame with words from the tables: the options of pcl and the commands while
 * neither a command nor a program has come, then the options of that command, then whatever the shell completes for the
 * program itself.
 */
#include <stdio.h>
#include <string.h>
#include "abi/types.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/launch.h"

static bool has_argument(const struct option_row *o)
{
	return o->argument[0] == '=';
}

/* "--name", or "--name=" if an argument follows; the words of a WORD each. */
static void print_words(const struct option_table *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct option_row *o = &t->rows[i];

		if (o->kind == WORD)
			for (const char *w = o->argument + 1; *w; w += strcspn(w, "|"), w += *w == '|')
				printf("--%s=%.*s ", o->name, (int)strcspn(w, "|"), w);
		else
			printf("--%s%s ", o->name, has_argument(o) ? "=" : "");
	}
}

static void print_commands(void)
{
	for (size_t i = 0; i < commands_nr; i++)
		printf("%s ", commands[i].name);
}

/* Letters and long options that take the next word. */
static void print_separate(const char *between)
{
	const char *sep = "";

	for (size_t i = 0; i < commands_nr; i++)
		for (size_t j = 0; commands[i].table && j < commands[i].table->nr; j++) {
			const struct option_row *o = &commands[i].table->rows[j];

			if (!has_argument(o))
				continue;
			printf("%s--%s", sep, o->name);
			sep = between;
			if (o->letter)
				printf("%s-%c", sep, o->letter);
		}
}

static void print_bash(void)
{
	printf("# bash completion for pcl; made by pcl --completion=bash\n"
	       "_pcl() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' command='' i w\n"
	       "\tCOMPREPLY=()\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tw=${COMP_WORDS[i]}\n"
	       "\t\tcase $w in\n"
	       "\t\t--) _command_offset $((i + 1)) 2>/dev/null || COMPREPLY=($(compgen -c -f -- \"$cur\")); return ;;\n"
	       "\t\t=) i=$((i + 1)) ;;\n\t\t");
	print_separate("|");
	printf(") [[ ${COMP_WORDS[i+1]} = '=' ]] || i=$((i + 1)) ;;\n"
	       "\t\t-*) ;;\n"
	       "\t\t*)\tif [[ -z $command && ' ");
	print_commands();
	printf("' == *\" $w \"* ]]; then command=$w\n"
	       "\t\t\telse _command_offset \"$i\" 2>/dev/null || COMPREPLY=($(compgen -f -- \"$cur\")); return; fi ;;\n"
	       "\t\tesac\n\tdone\n"
	       "\tcase $prev in --output|-o|--baseline|-b|=) COMPREPLY=($(compgen -f -- \"${cur#=}\")); return ;; "
	       "esac\n"
	       "\tcase $command in\n\t'') words='");
	print_words(&options_table);
	printf("' ;;\n");
	for (size_t i = 0; i < commands_nr; i++) {
		if (!commands[i].table)
			continue;
		printf("\t%s) words='", commands[i].name);
		print_words(commands[i].table);
		printf("' ;;\n");
	}
	printf("\tesac\n"
	       "\tif [[ $cur = -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	       "\telif [[ -z $command ]]; then COMPREPLY=($(compgen -c -W '");
	print_commands();
	printf("' -- \"$cur\"))\n"
	       "\telse COMPREPLY=($(compgen -c -- \"$cur\")); fi\n"
	       "\t[[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} = *= ]] && compopt -o nospace 2>/dev/null\n"
	       "\treturn 0\n"
	       "}\ncomplete -o filenames -F _pcl pcl\n");
}

/* Inside of '...[...]' of zsh's _arguments. */
static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else
			printf(strchr(special, *text) ? "\\%c" : "%c", *text);
	}
}

static void print_zsh_rows(const struct option_table *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct option_row *o = &t->rows[i];

		for (int letter = o->letter ? 1 : 0; letter >= 0; letter--) {
			if (letter)
				printf("\t\t'-%c[", o->letter);
			else
				printf("\t\t'--%s%s[", o->name, has_argument(o) ? "=" : "");
			print_quoted(o->help, "[]:");
			printf("]");
			if (o->kind == WORD) {
				printf(":%s:(", o->name);
				for (const char *w = o->argument + 1; *w; w++)
					putchar(*w == '|' ? ' ' : *w);
				printf(")");
			} else if (has_argument(o)) {
				printf(":%s:%s", o->name, strstr(o->argument, "FILE") ? "_files" : "");
			}
			printf("' \\\n");
		}
	}
}

static void print_zsh(void)
{
	printf("#compdef pcl\n# zsh completion for pcl; made by pcl --completion=zsh\n"
	       "_pcl() {\n\tlocal curcontext=$curcontext state line\n\tlocal -a pcl_commands\n\tpcl_commands=(\n");
	for (size_t i = 0; i < commands_nr; i++) {
		printf("\t\t'%s:", commands[i].name);
		print_quoted(commands[i].help, ":");
		printf("'\n");
	}
	printf("\t)\n\t_arguments -C -S \\\n");
	print_zsh_rows(&options_table);
	printf("\t\t'1:command:->command' '*::argument:->argument' && return 0\n"
	       "\tcase $state in\n"
	       "\tcommand) _describe command pcl_commands; _command_names -e ;;\n"
	       "\targument)\n\t\tcase $words[1] in\n");
	for (size_t i = 0; i < commands_nr; i++) {
		if (!commands[i].table)
			continue;
		printf("\t\t%s) _arguments -S \\\n", commands[i].name);
		print_zsh_rows(commands[i].table);
		printf("\t\t'*::program:_normal' ;;\n");
	}
	printf("\t\tlist) ;;\n\t\t*) _normal ;;\n\t\tesac ;;\n\tesac\n}\n"
	       "if [[ $zsh_eval_context[-1] = loadautofunc ]]; then _pcl \"$@\"; else compdef _pcl pcl; fi\n");
}

static void print_fish_rows(const struct option_table *t, const char *command)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct option_row *o = &t->rows[i];

		printf("complete -c pcl -n '__pcl_in %s' -l %s", command, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (has_argument(o))
			printf(strstr(o->argument, "FILE") ? " -r -F" : " -x");
		if (o->kind == WORD) {
			printf(" -a '");
			for (const char *w = o->argument + 1; *w; w++)
				putchar(*w == '|' ? ' ' : *w);
			printf("'");
		}
		printf(" -d '");
		for (const char *c = o->help; *c; c++)
			printf(*c == '\'' ? "\\'" : "%c", *c);
		printf("'\n");
	}
}

static void print_fish(void)
{
	printf("# fish completion for pcl; made by pcl --completion=fish\n"
	       "# The command or program so far: \"pcl\" before there is one, then its name.\n"
	       "function __pcl_in\n\tset -l words (commandline -opc)\n\tset -e words[1]\n"
	       "\tset -l now pcl\n"
	       "\tfor word in $words\n"
	       "\t\tstring match -q -- '-*' $word; and continue\n"
	       "\t\tset now $word\n\t\tbreak\n\tend\n"
	       "\ttest $now = $argv[1]\nend\n");
	for (size_t i = 0; i < commands_nr; i++)
		printf("complete -c pcl -n '__pcl_in pcl' -a %s -d '%s'\n", commands[i].name, commands[i].help);
	printf("complete -c pcl -n '__pcl_in pcl' -f -a '(__fish_complete_command)'\n");
	print_fish_rows(&options_table, "pcl");
	for (size_t i = 0; i < commands_nr; i++)
		if (commands[i].table)
			print_fish_rows(commands[i].table, commands[i].name);
}

int completion_print(const char *shell)
{
	if (!strcmp(shell, "bash"))
		print_bash();
	else if (!strcmp(shell, "zsh"))
		print_zsh();
	else if (!strcmp(shell, "fish"))
		print_fish();
	else {
		fprintf(stderr,
			"pcl: wrong option --completion=%s: the form is --completion=SHELL, of bash, zsh and fish\n",
			shell);
		return LAUNCH_FAILED;
	}
	return 0;
}
