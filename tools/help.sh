# Answers --help for the scripts of tools. Sourced before anything is installed:
#
#   . "$here/tools/help.sh" MODULE "$@"      MODULE: Python module that the script runs; "" for none
#
# Where .venv is complete the module prints its own help; else the header comment of the script is printed.
for word in "${@:2}"; do
    [ "$word" != -- ] || break
    if [ "$word" = --help ] || [ "$word" = -h ]; then
        python=$here/.venv/bin/python
        if [ -n "$1" ] && [ -x "$python" ]; then
            PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 "$python" -m "$1" "${@:2}" 2>/dev/null && exit 0
        fi
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
    fi
done
