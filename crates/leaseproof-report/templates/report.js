// Niceties only: the page says everything without this.
function reveal() {
  var id = decodeURIComponent(location.hash.slice(1));
  var target = id && document.getElementById(id);
  if (!target) return;
  for (var node = target; node; node = node.parentElement) {
    if (node.tagName === 'DETAILS') node.open = true;
  }
  target.scrollIntoView({ block: 'center' });
}
addEventListener('hashchange', reveal);
addEventListener('DOMContentLoaded', function () {
  document.documentElement.classList.add('js');
  document.querySelectorAll('.scroll').forEach(function (box) {
    var line = box.querySelector('.flagline');
    if (!line) return;
    var at = line.getBoundingClientRect().left - box.getBoundingClientRect().left;
    if (at > box.clientWidth * 0.8) box.scrollLeft = at - box.clientWidth * 0.6;
  });
  reveal();
});
