/* main.c - the program: finds the command, reads its options, runs it. */
#include <signal.h>
#include <string.h>
#include "base/cpu.h"
#include "base/num.h"
#include "cli/bus.h"
#include "cli/deploy.h"
#include "cli/version.h"

/* find.h */
#define MODEL_HELP                                                                                                     \
    "MODEL is a .gguf file (of a split model any part), a Hugging Face folder, ORG/NAME of a model in the\n"           \
    "hub's cache (HF_HUB_CACHE, HF_HOME), or a name in ~/.cache/sluice/models: smollm2.\n"

static const char intro[] =
    "sluice - runs large language models on CPUs, straight from .gguf files and Hugging Face folders\n"
    "\n"
    "  sluice run smollm2 \"Why is the sky blue?\"     one answer\n"
    "  sluice run smollm2                            a chat\n"
    "  sluice info model.gguf                        what is in a file or folder, what memory it will take\n"
    "  sluice run Qwen/Qwen3-0.6B                    a model of the Hugging Face hub that was downloaded before\n"
    "\n"
    "Usage: sluice COMMAND MODEL [OPTIONS]\n"
    "\n" MODEL_HELP "\n"
    "Commands:\n";

static void print_help(FILE *f)
{
    fputs(intro, f);
    for (size_t i = 0; sl_cli_commands[i]; i++)
        fprintf(f, "  %-12s %s\n", sl_cli_commands[i]->name, sl_cli_commands[i]->summary);
    fputs("\n"
          "`sluice COMMAND --help` explains a command; `sluice --version` says what this build is.\n"
          "Results go to stdout, progress and statistics to stderr. Exit status: 0 good, 1 failed,\n"
          "2 wrong usage, 130 ended by Ctrl-C. SLUICE_CPU=scalar|avx2 limits the kernels used,\n"
          "SLUICE_STREAMS=one|several says how memory is read.\n",
          f);
}

static sl_exit print_version(void)
{
    sl_err err = { 0 };
    sl_isa isa = SL_ISA_SCALAR;
    printf("sluice %s\n", sl_cli_version());
#ifdef __clang__
    printf("compiler  clang %s\n", __clang_version__);
#else
    printf("compiler  gcc %s\n", __VERSION__);
#endif
    printf("kernels   built: scalar%s; CPU: %s", SL_HAVE_AVX2 ? ", avx2" : "", sl_isa_name(sl_cpu_isa()));
    if (sl_cpu_isa_ceiling(&isa, &err)) {
        printf("\n");
        return sl_cli_fail(&err);
    }
    printf("; chosen: %s\n", sl_isa_name(SL_MIN(isa, SL_HAVE_AVX2 ? SL_ISA_AVX2 : SL_ISA_SCALAR)));
    bool several = false;
    if (sl_cpu_several_streams(&several, &err))
        return sl_cli_fail(&err);
    printf("memory    read in %s\n", several ? "several streams" : "one stream");
    return SL_EXIT_OK;
}

static sl_exit print_command_help(const sl_command *c)
{
    sl_str text = { 0 };
    sl_str_printf(&text, "sluice %s - %s\n\nUsage: %s\n\n" MODEL_HELP "\n%s", c->name, c->summary, c->usage, c->text);
    sl_options_help(c->groups, &text);
    const bool failed = text.failed;
    if (!failed)
        sl_cli_write(text.data, text.len);
    sl_str_fini(&text);
    return failed ? sl_cli_failed("no memory for the help text") : SL_EXIT_OK;
}

static const sl_command *find_command(const char *name)
{
    for (size_t i = 0; sl_cli_commands[i]; i++)
        if (strcmp(sl_cli_commands[i]->name, name) == 0)
            return sl_cli_commands[i];
    return NULL;
}

static sl_exit unknown_command(const char *name)
{
    for (size_t i = 0; sl_cli_commands[i]; i++)
        if (sl_edit_distance(name, sl_cli_commands[i]->name) <= 2)
            return sl_cli_usage("unknown command %s (did you mean %s?)", name, sl_cli_commands[i]->name);
    return sl_cli_usage("unknown command %s; `sluice --help` lists the commands", name);
}

/* "" would be a path that cannot be. */
static sl_exit check_model(const sl_args *args)
{
    return args->model && !*args->model ? sl_cli_usage("MODEL is empty: a file, a folder or a name is expected")
                                        : SL_EXIT_OK;
}

/* MODEL comes first unless -m gave it. */
static sl_exit place_arguments(const sl_command *c, const sl_words *rest, sl_args *args)
{
    size_t used = 0;
    args->model = args->model_option;
    if (!args->model && used < rest->n)
        args->model = rest->data[used++];
    if (!args->model && !c->model_optional)
        return sl_cli_usage("%s needs a MODEL: %s", c->name, c->usage);
    if (c->max_texts && used < rest->n)
        args->text = rest->data[used++];
    if (used < rest->n)
        return sl_cli_usage("%s: unexpected argument \"%s\"%s", c->name, rest->data[used],
                            c->max_texts ? " (put a text of several words in quotes)" : "");
    return check_model(args);
}

static void free_words(sl_args *args, sl_words *rest)
{
    sl_words_fini(rest);
    sl_words_fini(&args->bias);
    sl_words_fini(&args->stop);
    sl_words_fini(&args->tokens);
    sl_words_fini(&args->override_kv);
}

static sl_exit read_options(const sl_command *c, int argc, char **argv, sl_args *args, sl_words *rest)
{
    sl_err err = { 0 };
    if (sl_options_parse(c->groups, argc, argv, args, rest, &err))
        return sl_cli_usage("%s: %s\nTry `sluice %s --help`.", c->name, err.msg, c->name);
    return SL_EXIT_OK;
}

static bool is_map(const char *weights)
{
    return weights && strcmp(weights, "map") == 0;
}

/* --no-mmap is another word for --weights copy, and --repack has copies: of these, what the command line says counts.
 * `file`: as the deploy file had them. */
static void settle_weights(sl_args *args, const sl_args *file)
{
    const bool given = args->weights != file->weights; /* by another text, even if it says the same */
    if (given && file->no_mmap && is_map(args->weights))
        args->no_mmap = false;
    if (given && file->repack && is_map(args->weights))
        args->repack = false;
    if (!given && args->repack && !file->repack && is_map(args->weights))
        args->weights = NULL;
    if (!given && args->no_mmap && !file->no_mmap && args->weights && strcmp(args->weights, "copy") != 0)
        args->weights = NULL;
}

/* The command line named a deploy file: its options come first, and the command line is read once more over them. */
static sl_exit read_deploy(const sl_command *c, int argc, char **argv, sl_args *args, sl_words *rest)
{
    const char *file = args->deploy_file;
    free_words(args, rest);
    *args = sl_args_default;
    args->deploy_file = file;
    sl_exit code = sl_cli_deploy_read(c, args);
    const sl_args of_file = *args;
    code = code ? code : read_options(c, argc, argv, args, rest);
    settle_weights(args, &of_file);
    return code;
}

static sl_exit run_command(const sl_command *c, int argc, char **argv)
{
    sl_args args = sl_args_default;
    sl_words rest = { 0 };
    sl_exit code = read_options(c, argc, argv, &args, &rest);
    if (!code && args.no_mmap && is_map(args.weights))
        code = sl_cli_usage("%s: --no-mmap means --weights copy, but --weights map is given too", c->name);
    if (!code && args.repack && is_map(args.weights))
        code = sl_cli_usage("%s: --repack lays out copies, but --weights map is given too", c->name);
    if (!code && args.deploy_file && !args.help)
        code = read_deploy(c, argc, argv, &args, &rest);
    if (!code && args.help) {
        code = print_command_help(c);
    } else if (!code) {
        code = place_arguments(c, &rest, &args);
        if (code == SL_EXIT_OK)
            code = c->run(&args);
    }
    free_words(&args, &rest);
    sl_deploy_close(args.deploy);
    return code;
}

static sl_exit dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_help(stderr);
        return SL_EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0)
        return print_version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        if (argc > 2)
            return find_command(argv[2]) ? print_command_help(find_command(argv[2])) : unknown_command(argv[2]);
        print_help(stdout);
        return SL_EXIT_OK;
    }
    if (name[0] == '-')
        return sl_cli_usage("%s: a command comes first; `sluice --help` lists them", name);
    const sl_command *c = find_command(name);
    return c ? run_command(c, argc - 2, argv + 2) : unknown_command(name);
}

int main(int argc, char **argv)
{
    if (!sl_cli_keep_standard_fds())
        return SL_EXIT_FAILED;
    sl_cli_bus_catch();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write, not a death */
    return (int)sl_cli_stdout_end(dispatch(argc, argv));
}
