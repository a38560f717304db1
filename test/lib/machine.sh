# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# What the machine must have, and how to get it: a PostgreSQL >= 14 with its headers, PCRE2, zstd, a compiler, Perl's IPC::Run.

oldest_server=14

# The newest PostgreSQL of this machine that extensions can be built for; PG_CONFIG overrules.
find_pg_config() {
	local candidate version best="" best_version=0
	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG is no program"
		return
	fi
	for candidate in /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config /usr/local/pgsql/bin/pg_config \
		"$(command -v pg_config || true)"; do
		[ -x "$candidate" ] && [ -x "$("$candidate" --bindir)/initdb" ] || continue
		[ -f "$("$candidate" --includedir-server)/postgres.h" ] && [ -f "$("$candidate" --pgxs)" ] || continue
		version=$("$candidate" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
		if ((version >= oldest_server && version > best_version)); then
			best=$candidate best_version=$version
		fi
	done
	printf '%s\n' "$best"
}

# The newest server that is installed, headers or not, so that only the headers of that one are added.
installed_server() {
	local candidate version best=""
	for candidate in /usr/lib/postgresql/*/bin/initdb; do
		[ -x "$candidate" ] || continue
		version=${candidate#/usr/lib/postgresql/}
		version=${version%%/*}
		((version >= oldest_server && version > ${best:-0})) && best=$version
	done
	printf '%s\n' "$best"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		command -v sudo >/dev/null || die "missing on this machine: ${missing[*]}; install it, or run this as root or with sudo"
		sudo -n true 2>/dev/null || [ -t 0 ] || die "sudo asks for a password: install ${missing[*]} first, or run this as root"
		sudo "$@"
	fi
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 --no-install-recommends "$@"
}

# Names what is missing, by the name of its Debian package.
list_missing() {
	local server
	missing=()
	pg_config=$(find_pg_config)
	if [ -z "$pg_config" ]; then
		server=$(installed_server)
		if [ -n "$server" ]; then
			missing+=("postgresql-server-dev-$server")
		else
			missing+=(postgresql)
		fi
	fi
	command -v make >/dev/null || missing+=(make)
	command -v gcc >/dev/null || command -v cc >/dev/null || missing+=(gcc libc6-dev)
	command -v pkg-config >/dev/null || missing+=(pkg-config)
	pkg-config --exists libpcre2-8 2>/dev/null || missing+=(libpcre2-dev)
	pkg-config --exists libzstd 2>/dev/null || missing+=(libzstd-dev)
	command -v prove >/dev/null || missing+=(perl)
	perl -MIPC::Run -e 1 2>/dev/null || missing+=(libipc-run-perl)
	command -v gzip >/dev/null || missing+=(gzip)
	command -v zstd >/dev/null || missing+=(zstd)
}

machine_ready() {
	list_missing
	if ((${#missing[@]} > 0)); then
		command -v apt-get >/dev/null || die "missing on this machine, and there is no apt-get to install it: ${missing[*]}"
		say "Installing what is missing: ${missing[*]}"
		quietly "apt-get update" apt update
		quietly "apt-get install" apt install "${missing[@]}"
		list_missing
		# a server that has just come brings no headers: they are a package of its version
		if ((${#missing[@]} > 0)); then
			quietly "apt-get install ${missing[*]}" apt install "${missing[@]}"
			list_missing
		fi
		((${#missing[@]} == 0)) || die "still missing after installing: ${missing[*]}"
	fi
}
