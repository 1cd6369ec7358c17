/** Files in memory, for tests and for looking at a mod without keeping it. */
export function memoryFiles() {
  const files = new Map();
  const chunks = new Map();
  const blob = (guid, sha256) => new Blob(chunks.get(guid)?.sha256 === sha256 ? chunks.get(guid).list : []);
  return {
    read: async (guid, name) => files.get(`${guid}/${name}`) ?? null,
    put: async (guid, name, sha256) => {
      files.set(`${guid}/${name}`, blob(guid, sha256));
      chunks.delete(guid);
    },
    remove: async (guid, name) => void files.delete(`${guid}/${name}`),
    parts: {
      size: async (guid, sha256) => blob(guid, sha256).size,
      append: async (guid, sha256, bytes) => {
        if (chunks.get(guid)?.sha256 !== sha256) chunks.set(guid, {sha256, list: []});
        chunks.get(guid).list.push(bytes.slice());
      },
      blob: async (guid, sha256) => blob(guid, sha256),
      clear: async (guid) => void chunks.delete(guid),
    },
  };
}
