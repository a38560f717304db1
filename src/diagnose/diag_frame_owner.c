/*
 * diag_frame_owner.c: whose code a frame is in, by the path of its file or the name space of its function.
 */
#include "postgres.h"

#include "base/ascii.h"
#include "diagnose/diagnose.h"

static bool
is_text(L4Text a, const char *b)
{
	return a.len == strlen(b) && pg_strncasecmp(a.data, b, a.len) == 0;
}

static bool
begins(L4Text a, const char *b)
{
	return a.len >= strlen(b) && memcmp(a.data, b, strlen(b)) == 0;
}

static bool
is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* The component of a path that begins at *at, which goes behind it; false at the end. */
static bool
next_component(L4Text path, int *at, L4Text *component)
{
	while (*at < path.len && is_slash(path.data[*at]))
		(*at)++;
	component->data = path.data + *at;
	component->len = 0;
	while (*at < path.len && !is_slash(path.data[*at]))
	{
		(*at)++;
		component->len++;
	}
	return component->len > 0;
}

/* A name up to the first of some characters. */
static L4Text
up_to(L4Text name, const char *ends)
{
	int			len = 0;

	while (len < name.len && strchr(ends, name.data[len]) == NULL)
		len++;
	name.len = len;
	return name;
}

/* "libtorch_cpu.so.2" is libtorch_cpu. */
static bool
shared_object(L4Text name, L4Text *package)
{
	for (int i = 1; i + 3 <= name.len; i++)
		if (memcmp(name.data + i, ".so", 3) == 0 && (i + 3 == name.len || name.data[i + 3] == '.'))
		{
			package->data = name.data;
			package->len = i;
			return true;
		}
	return false;
}

static bool
is_system_object(L4Text name)
{
	static const char *const names[] = {"libc", "libpthread", "libm", "libdl", "librt", "libstdc++", "libgcc_s", "ld-linux-x86-64",
	"linux-vdso", "libasan", "libubsan", "libtsan"};

	for (int i = 0; i < lengthof(names); i++)
		if (is_text(up_to(name, "."), names[i]) || is_text(up_to(name, "-"), names[i]))
			return true;
	return begins(name, "libpython");
}

/* python3.11, not python_tools.py */
static bool
is_interpreter(L4Text name)
{
	if (!begins(name, "python"))
		return false;
	for (int i = 6; i < name.len; i++)
		if (!l4_ascii_digit(name.data[i]) && name.data[i] != '.')
			return false;
	return true;
}

/* What the last component of a path tells: a shared object, the interpreter, a program that was installed. */
static void
owner_by_name(L4Frame *frame, L4Text name, L4Text directory)
{
	L4Text		package;

	if (shared_object(name, &package))
	{
		frame->owner = is_system_object(name) ? L4_FRAME_STDLIB : L4_FRAME_LIBRARY;
		frame->package = package;
	}
	else if (is_interpreter(name) || (is_text(directory, "lib") && name.data[-1] == '\\'))
		frame->owner = L4_FRAME_STDLIB; /* also C:\Python311\Lib\runpy.py */
	else if (is_text(directory, "bin") && memchr(name.data, '.', name.len) == NULL)
	{
		frame->owner = L4_FRAME_LIBRARY;
		frame->package = name;
	}
}

/* site-packages, or what Debian calls it, holds a directory or a file for each package; what else lies below lib/python3.11 is the language's. */
static void
owner_by_path(L4Frame *frame)
{
	static const char *const language[] = {"<frozen ", "node:", "/usr/local/go/src/", "/usr/lib/go-"};
	L4Text		name;
	L4Text		before = {"", 0};
	int			at = 0;

	frame->owner = L4_FRAME_USER;
	for (int i = 0; i < lengthof(language); i++)
		if (begins(frame->file, language[i]))
			frame->owner = L4_FRAME_STDLIB;
	while (next_component(frame->file, &at, &name))
	{
		if (is_text(before, "site-packages") || is_text(before, "dist-packages") || is_text(before, "node_modules"))
		{
			/* of several the last one counts */
			frame->owner = L4_FRAME_LIBRARY;
			frame->package = up_to(name, ".-");
		}
		else if (frame->owner == L4_FRAME_USER && at >= frame->file.len)
			owner_by_name(frame, name, before);
		else if (frame->owner == L4_FRAME_USER && (is_text(before, "lib") || is_text(before, "lib64")) &&
				 (begins(name, "python") || begins(name, "pypy")))
			frame->owner = L4_FRAME_STDLIB;
		before = name;
	}
}

/* org.apache.spark.rdd.RDD.iterator: names of organisations take two parts, those of foundations three. */
static void
owner_by_class(L4Frame *frame)
{
	static const char *const language[] = {"java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.", "kotlin."};
	static const char *const public[] = {"org.", "io.", "net.", "com.google.", "com.amazonaws.", "com.fasterxml."};
	L4Text		name = frame->function;
	int			parts = begins(name, "org.apache.") ? 3 : 2;

	frame->owner = L4_FRAME_USER;
	for (int i = 0; i < lengthof(language); i++)
		if (begins(name, language[i]))
			frame->owner = L4_FRAME_STDLIB;
	for (int i = 0; i < lengthof(public); i++)
		if (begins(name, public[i]))
			frame->owner = L4_FRAME_LIBRARY;
	if (frame->owner != L4_FRAME_LIBRARY)
		return;
	frame->package.data = name.data;
	for (int i = 0; i < name.len && (name.data[i] != '.' || --parts > 0); i++)
		frame->package.len = i + 1;
}

/* at::native::add, and _ZN2at6native3addE. */
static void
owner_by_namespace(L4Frame *frame)
{
	L4Text		name = frame->function;
	L4Text		space = {NULL, 0};

	if (begins(name, "_ZN"))
	{
		int			at = 3;
		int			len = 0;

		while (at < name.len && strchr("KVr", name.data[at]) != NULL)
			at++;
		if (at + 1 < name.len && name.data[at] == 'S' && name.data[at + 1] == 't')
			frame->owner = L4_FRAME_STDLIB;
		while (at < name.len && len < 1000 && l4_ascii_digit(name.data[at]))
			len = len * 10 + name.data[at++] - '0';
		if (len == 0 || len > name.len - at)
			return;
		space.data = name.data + at;
		space.len = len;
	}
	else
	{
		space = up_to(name, ":<( ");
		if (space.len + 2 > name.len || space.len == 0 || memcmp(name.data + space.len, "::", 2) != 0)
			return;
	}
	if (is_text(space, "std") || is_text(space, "__gnu_cxx") || is_text(space, "__cxxabiv1"))
		frame->owner = L4_FRAME_STDLIB;
	else
		frame->package = space; /* the user's have name spaces as well */
}

void
l4_frame_owner(L4Frame *frame, bool java)
{
	frame->owner = L4_FRAME_UNKNOWN;
	if (java && memchr(frame->file.data, '/', frame->file.len) == NULL && !begins(frame->file, "node:"))
		owner_by_class(frame);
	else if (frame->file.len > 0)
		owner_by_path(frame);
	else
		owner_by_namespace(frame);
}
