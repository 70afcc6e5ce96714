//! Calls that changed files. While a call is at work its changes are files of its own, on the disk
//! before anything happens; once it is over they are taken over here, the list as rows, the contents
//! as blobs. The files go when that is on the disk too, so a loss of power leaves the one or the
//! other.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::KeptChanges;

use crate::blobs::refer;
use crate::retention::Counted;
use crate::{BlobId, Blobs, Durability, Row, Store, StoreError, Swept, Tx};

#[derive(Clone)]
pub struct Changes {
    store: Store,
    blobs: Blobs,
    /// Where they come in
    drafts: PathBuf,
}

impl Changes {
    pub fn new(store: Store, home: &Path) -> Self {
        Changes {
            blobs: Blobs::new(store.clone(), home),
            store,
            drafts: home.join(KeptChanges::FOLDER),
        }
    }

    /// Take over what has come in, with the next commit.
    pub fn take_soon(&self) {
        // Where nothing has come in, nobody need wait for this beside what is to be committed.
        let mut drafts = fs::read_dir(&self.drafts).into_iter().flatten();
        if drafts.next().is_none() {
            return;
        }
        let changes = self.clone();
        self.store.hand_over(move |tx| changes.take(tx).map(drop));
    }

    /// Take over what has come in. Says how many calls.
    pub fn take_all(&self) -> Result<u64, StoreError> {
        let changes = self.clone();
        let taken = self
            .store
            .write(Durability::Power, move |tx| changes.take(tx));
        let taken = taken.wait()?;
        self.store.caught_up()?;
        Ok(taken)
    }

    fn take(&self, tx: &mut dyn Tx) -> Result<u64, StoreError> {
        let mut taken = 0;
        for (id, mut files) in coming_in(&self.drafts) {
            let done = self
                .drafts
                .join(KeptChanges::file_name(&id, KeptChanges::DONE));
            // Without these words the call is at work, or was cut short.
            let Some(entry) = told(&done) else { continue };
            if !is_known(tx, &id)? {
                // What cannot be had as a blob stays where it is, and is put back from there.
                let Ok(contents) = self.contents(&id, &entry) else {
                    continue;
                };
                for (blob, size) in contents {
                    refer(tx, &owner(&id), &blob, size as i64)?;
                }
                add(tx, &id, &entry)?;
                taken += 1;
            }
            files.retain(|file| *file != done);
            files.push(done);
            let (blobs, ids) = (self.blobs.clone(), ids_of(&entry));
            let gone = move |on_disk: bool| {
                // Their second names must outlast the first ones.
                if !on_disk || blobs.sync_names(&ids).is_err() {
                    return;
                }
                for file in &files {
                    // What stays is seen by the next one.
                    let _ = fs::remove_file(file);
                }
            };
            tx.after_commit("", Box::new(gone));
        }
        Ok(taken)
    }

    /// The files of a call as blobs, with their sizes.
    fn contents(&self, id: &str, entry: &KeptChanges) -> io::Result<Vec<(BlobId, u64)>> {
        let files = entry.files().map(|(ending, digest)| {
            let blob = BlobId::parse(digest).ok_or(io::ErrorKind::InvalidData)?;
            let file = self.drafts.join(KeptChanges::file_name(id, ending));
            let size = self.blobs.link_as(&file, &blob)?;
            Ok((blob, size))
        });
        files.collect()
    }

    /// The calls that changed files in a place, newest first.
    pub fn list(&self, place: &str) -> Result<Vec<KeptChanges>, StoreError> {
        let mut found = Vec::new();
        self.store.read(|tx| {
            tx.each(
                "SELECT id, place, workspace, call_id, session, tool, time, places, undoes, bytes, \
                 log, pack FROM changes WHERE place = $1 ORDER BY seq DESC",
                &[place.into()],
                &mut |row| {
                    found.push(entry(row)?);
                    Ok(true)
                },
            )
        })?;
        Ok(found)
    }

    /// A content by its digest. Whoever reads it compares.
    pub fn open(&self, digest: &str) -> io::Result<fs::File> {
        match BlobId::parse(digest) {
            Some(id) => self.blobs.open(&id),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// How much there is, and how much of it is older than a time or beyond so many bytes, oldest
    /// first. Without `dry_run` that is let go, and the next sweep removes the contents.
    pub fn limit(
        &self,
        since: i64,
        bytes: u64,
        dry_run: bool,
    ) -> Result<(Swept, Swept), StoreError> {
        let mut counted = Counted::new(since, bytes);
        self.store.read(|tx| {
            let sql = "SELECT id, time, bytes FROM changes ORDER BY seq DESC";
            tx.each(sql, &[], &mut |row| {
                let number = |column| Ok::<_, StoreError>(row.cell(column)?.int().unwrap_or(0));
                counted.add(text(row, 0)?, number(2)? as u64, number(1)?);
                Ok(true)
            })
        })?;
        let ids = counted.names;
        if !dry_run && !ids.is_empty() {
            let released = self.store.write(Durability::Process, move |tx| {
                for id in &ids {
                    let sql = "DELETE FROM changes WHERE id = $1";
                    tx.run(sql, &[id.as_str().into()])?;
                    let sql = "DELETE FROM blob_refs WHERE owner = $1";
                    tx.run(sql, &[owner(id).as_str().into()])?;
                }
                Ok(())
            });
            released.wait()?;
        }
        Ok((counted.all, counted.gone))
    }
}

fn add(tx: &mut dyn Tx, id: &str, entry: &KeptChanges) -> Result<(), StoreError> {
    let undoes = serde_json::to_string(&entry.undoes).unwrap_or_default();
    tx.run(
        "INSERT INTO changes (id, place, workspace, call_id, session, tool, time, places, undoes, \
         bytes, log, pack) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            id.into(),
            entry.place.as_str().into(),
            entry.workspace.as_str().into(),
            entry.call.as_str().into(),
            entry.session.as_str().into(),
            entry.tool.as_str().into(),
            (entry.at_ms as i64).saturating_mul(1_000).into(),
            (entry.places as i64).into(),
            undoes.as_str().into(),
            (entry.bytes as i64).into(),
            entry.log.as_str().into(),
            entry.pack.as_deref().into(),
        ],
    )?;
    Ok(())
}

fn ids_of(entry: &KeptChanges) -> Vec<BlobId> {
    let digests = entry.files().map(|(_, digest)| digest);
    digests.filter_map(BlobId::parse).collect()
}

fn owner(id: &str) -> String {
    format!("undo/{id}")
}

fn is_known(tx: &mut dyn Tx, id: &str) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) FROM changes WHERE id = $1";
    Ok(tx.first_int(sql, &[id.into()])? != Some(0))
}

/// The files of every call that lie there, oldest call first.
fn coming_in(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if let Some((id, _)) = name.to_str().and_then(|name| name.split_once('.')) {
            found.entry(id.to_owned()).or_default().push(entry.path());
        }
    }
    found
}

fn told(done: &Path) -> Option<KeptChanges> {
    serde_json::from_slice(&fs::read(done).ok()?).ok()
}

fn entry(row: &dyn Row) -> Result<KeptChanges, StoreError> {
    let number = |column| Ok::<_, StoreError>(row.cell(column)?.int().unwrap_or(0) as u64);
    Ok(KeptChanges {
        id: text(row, 0)?,
        place: text(row, 1)?,
        workspace: text(row, 2)?,
        call: text(row, 3)?,
        session: text(row, 4)?,
        tool: text(row, 5)?,
        at_ms: number(6)? / 1_000,
        places: number(7)?,
        undoes: serde_json::from_str(&text(row, 8)?).unwrap_or_default(),
        bytes: number(9)?,
        log: text(row, 10)?,
        pack: row.cell(11)?.text().map(str::to_owned),
        contents: Vec::new(),
    })
}

fn text(row: &dyn Row, column: usize) -> Result<String, StoreError> {
    Ok(row.cell(column)?.text().unwrap_or_default().to_owned())
}
