/* SPDX-License-Identifier: Apache-2.0
 *
 * skein completion: scripts for shells, and what they ask when somebody presses the tab key. One
 * thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cmd.h"

static const char bash[] =
    "# bash completion of skein; in ~/.bashrc: source <(skein completion bash)\n"
    "_skein() {\n"
    "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" line\n"
    "    COMPREPLY=()\n"
    "    [ \"$cur\" != = ] || cur=\n"
    "    while IFS= read -r line; do\n"
    "        if [ \"$line\" = :files ]; then\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            while IFS= read -r line; do\n"
    "                COMPREPLY+=(\"$line\")\n"
    "            done < <(compgen -f -- \"$cur\")\n"
    "        else\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"$1\" completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _skein skein\n";

static const char zsh[] =
    "#compdef skein\n"
    "# zsh completion of skein; in ~/.zshrc, behind compinit: source <(skein completion zsh)\n"
    "_skein() {\n"
    "    local line files=0\n"
    "    local -a items\n"
    "    for line in \"${(@f)$(\"${words[1]}\" completion words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)}\"; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            files=1\n"
    "        elif [[ -n $line ]]; then\n"
    "            items+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "        fi\n"
    "    done\n"
    "    (( ! $#items )) || _describe -o skein items\n"
    "    (( ! files )) || _files\n"
    "}\n"
    "if [[ $funcstack[1] == _skein ]]; then _skein \"$@\"; else compdef _skein skein; fi\n";

static const char fish[] =
    "# fish completion of skein; in config.fish: skein completion fish | source\n"
    "function __skein_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    for line in (command skein completion words -- $words[2..-1] 2>/dev/null)\n"
    "        if test \"$line\" = :files\n"
    "            __fish_complete_path (commandline -ct)\n"
    "        else\n"
    "            echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c skein -f -a '(__skein_complete)'\n";

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const scripts[] = {bash, zsh, fish};

struct options {
    bool unused;
};
static const struct cli_option options[] = {CLI_OPTIONS_END};

static int completion_run(const struct cli_call *call)
{
    if (strcmp(call->arguments[0], "words") == 0) {
        struct buf out = {0};
        cli_complete_put(&out, (const char *const *)(call->arguments + 1), (size_t)call->count - 1);
        bool written = out_write(&out);
        buf_fini(&out);
        return written ? out_close() : CLI_FAILED;
    }
    for (size_t i = 0; shells[i] != NULL; i++) {
        if (call->count == 1 && strcmp(call->arguments[0], shells[i]) == 0) {
            printf("%s", scripts[i]);
            return out_close();
        }
    }
    say_error("completion: '%s': must be bash, zsh or fish", call->arguments[call->count > 1]);
    return CLI_USAGE;
}

const struct cli_command cmd_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "Print the script that makes a shell complete skein's words",
    .details =
        "The script asks `skein completion words -- WORD...` for what the last of the words\n"
        "behind `skein` may become.\n",
    .examples = "  source <(skein completion bash)\n"
                "  skein completion fish | source\n",
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .choices = shells,
    CLI_RUN(options, struct options, completion_run),
};
