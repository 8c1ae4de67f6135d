// Logs in by name and password, by a token, or by the one-time link whose token is in the fragment.
// There is a form where there are accounts; else it is said what the way in is.

const form = document.getElementById("form");
const go = document.getElementById("go");
const problem = document.getElementById("problem");
const used = document.getElementById("used");
const kind = document.querySelector("main").dataset.way;
const ways = { password: document.getElementById("by-password"), token: document.getElementById("by-token") };

async function logIn(proof) {
  go.disabled = true;
  problem.hidden = true;
  used.hidden = true;
  try {
    const answer = await fetch("api/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(proof),
    });
    if (answer.ok) {
      location.replace(`./${sessionStorage.getItem("taskq.back") ?? ""}`);
      return;
    }
    const { detail } = await answer.json();
    if (proof.link !== undefined && answer.status === 401) used.hidden = false;
    else tell(detail);
  } catch {
    tell("The server cannot be reached.");
  }
  go.disabled = false;
}

function tell(sentence) {
  const shown = form.hidden ? used : problem;
  shown.textContent = sentence;
  shown.hidden = false;
}

function way() {
  return new FormData(form).get("way");
}

function show() {
  for (const [name, part] of Object.entries(ways)) part.hidden = name !== way();
}

form.addEventListener("change", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const data = new FormData(form);
  logIn(
    way() === "token"
      ? { token: data.get("token").trim() }
      : { name: data.get("name").trim(), password: data.get("password") },
  );
});
show();
form.hidden = kind !== "accounts";
for (const name of ["link", "host"]) document.getElementById(`by-${name}`).hidden = kind !== name;

function followLink() {
  const link = location.hash.slice(1);
  if (!link) return;
  history.replaceState(null, "", location.pathname);
  logIn({ link });
}

window.addEventListener("hashchange", followLink);
followLink();
