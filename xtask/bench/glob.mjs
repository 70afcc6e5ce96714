// Finds files by glob with fast-glob, newest first, and prints their paths.
// usage: glob.mjs FOLDER_WITH_NODE_MODULES PATTERN
import { createRequire } from 'node:module';

const [folder, pattern] = process.argv.slice(2);
const glob = createRequire(`${folder}/`)('fast-glob');
const found = await glob(pattern, { stats: true, ignore: ['**/.git/**'] });
found.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
process.stdout.write(found.map((entry) => `${entry.path}\n`).join(''));
