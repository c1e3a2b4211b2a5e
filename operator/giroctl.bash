# Completion of giroctl for bash. The program itself says what may follow, so this never goes stale.

_giroctl()
{
    local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]}
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" complete -- \
        "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "$current"))
}

complete -o default -F _giroctl giroctl
